/* SPDX-License-Identifier: MIT */
/* The same operations as in ops/vectors.c. */
#include "vectors.clh"

VECTOR_KERNEL(vector_dot) {
    float2 sum = FLOAT2(0.0f, 0.0f);
    FOR_ELEMENTS(i) sum = add_square(sum, a[i], b[i]);
    GATHER_1(sum);
}

VECTOR_KERNEL(vector_add) { FOR_ELEMENTS(i) b[i + shift] = ADD(b[i + shift], MUL(s0, a[i])); }

VECTOR_KERNEL(vector_fold) { FOR_ELEMENTS(i) b[i] = ADD(a[i], MUL(s0, b[i])); }

VECTOR_KERNEL(vector_residual) {
    float2 sum = FLOAT2(0.0f, 0.0f);
    FOR_ELEMENTS(i) {
        const float r = ADD(a[i], -c[i]);
        sum = add_square(sum, r, r);
        c[i] = flags & WEIGHTED ? MUL(b[i], r) : r;
    }
    GATHER_1(sum);
}

VECTOR_KERNEL(vector_invert) { FOR_ELEMENTS(i) a[i] = a[i] > s0 ? 1.0f / a[i] : 0.0f; }

VECTOR_KERNEL(vector_mask) { FOR_ELEMENTS(i) if (AS_INT(a[i]) == (int)0x80000000u) b[i] = 0.0f; }

VECTOR_KERNEL(vector_free) { FOR_ELEMENTS(i) if (a[i] <= 0.0f && b[i] < 0.0f) b[i] = 0.0f; }

VECTOR_KERNEL(vector_scale) { FOR_ELEMENTS(i) a[i] = MUL(a[i], s0); }

VECTOR_KERNEL(vector_advance) {
    float2 change = FLOAT2(0.0f, 0.0f), norm = change, below = change;
    FOR_ELEMENTS(i) {
        const float by = flags & WEIGHTED ? MUL(b[i], a[i]) : a[i], old = c[i];
        float x = ADD(old, MUL(s0, by));
        if (flags & NONNEG && x < 0.0f) {
            below = add_square(below, x, x);
            x = 0.0f;
        }
        c[i] = x;
        const float d = ADD(x, -old);
        change = add_square(change, d, d);
        norm = add_square(norm, x, x);
    }
    GATHER_3(change, norm, below);
}

/* Sets the elements of the volume or projection to s0 and the zeros around it to 0. */
VECTOR_KERNEL(vector_fill) {
    FOR_ELEMENTS(i) {
        const int at = (int)(i % (ulong)line) - front;
        const ulong number = i / (ulong)line;
        const int x = (int)(number % (ulong)across), y = (int)(number / (ulong)across);
        const bool there = at >= 0 && at < used && x >= edge && x < across - edge && y >= edge && y < down - edge;
        a[i] = there ? s0 : 0.0f;
    }
}
