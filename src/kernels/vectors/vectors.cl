/* SPDX-License-Identifier: MIT */
/* Long vectors on a device: what ops/vectors.c does on the CPU. A group takes BLOCK elements, whatever the device,
 * and sums in numbers of twice the digits, always in the same order; its sums go to partial[group][SUMS], to
 * be added in order on the host. */
#if QB_CUDA
#define MUL(a, b) __fmul_rn(a, b)
#define ADD(a, b) __fadd_rn(a, b)
#else
#pragma OPENCL FP_CONTRACT OFF
#define MUL(a, b) ((a) * (b))
#define ADD(a, b) ((a) + (b))
#endif
#define BLOCK 32768
#define ITEMS 256
#define SUMS 3

FUNCTION float2 add_square(float2 sum, float a, float b) {
    const float p = MUL(a, b), rest = FMA(a, b, -p);
    const float s = ADD(sum.x, p), t = ADD(s, -sum.x);
    const float e = ADD(ADD(sum.x, -ADD(s, -t)), ADD(p, -t));
    const float low = ADD(sum.y, ADD(e, rest)), high = ADD(s, low);
    return FLOAT2(high, ADD(low, -ADD(high, -s)));
}

FUNCTION float2 add_pair(float2 a, float2 b) {
    const float s = ADD(a.x, b.x), t = ADD(s, -a.x);
    const float e = ADD(ADD(a.x, -ADD(s, -t)), ADD(b.x, -t));
    const float low = ADD(ADD(a.y, b.y), e), high = ADD(s, low);
    return FLOAT2(high, ADD(low, -ADD(high, -s)));
}

FUNCTION void gather_sum(LOCAL_POINTER float2 *pairs, float2 own, int which, GLOBAL float2 *partial) {
    const int item = (int)local_id(0);
    pairs[item] = own;
    for (int half_way = ITEMS / 2; half_way > 0; half_way /= 2) {
        BARRIER();
        if (item < half_way) pairs[item] = add_pair(pairs[item], pairs[item + half_way]);
    }
    BARRIER();
    if (item == 0) partial[(ulong)group_id(0) * SUMS + (ulong)which] = pairs[0];
    BARRIER();
}

#define VECTOR_KERNEL(name)                                                                        \
    KERNEL GROUPS_OF(ITEMS, 2) void name(GLOBAL const float *a, GLOBAL const float *b,             \
                                         GLOBAL const float *weight, GLOBAL float *out,            \
                                         ulong count, float scale, int flags, GLOBAL float2 *partial)
#define FOR_ELEMENTS(i)                                                                            \
    const ulong first = (ulong)group_id(0) * BLOCK, end = first + BLOCK < count ? first + BLOCK : count; \
    for (ulong i = first + local_id(0); i < end; i += ITEMS)
#define NONNEG 1
#define WEIGHTED 2

VECTOR_KERNEL(vector_dot) {
    LOCAL float2 pairs[ITEMS];
    float2 sum = FLOAT2(0.0f, 0.0f);
    FOR_ELEMENTS(i) sum = add_square(sum, a[i], b[i]);
    gather_sum(pairs, sum, 0, partial);
}

VECTOR_KERNEL(vector_add) { FOR_ELEMENTS(i) out[i] = ADD(out[i], MUL(scale, a[i])); }

VECTOR_KERNEL(vector_fold) { FOR_ELEMENTS(i) out[i] = ADD(a[i], MUL(scale, out[i])); }

VECTOR_KERNEL(vector_residual) {
    LOCAL float2 pairs[ITEMS];
    float2 sum = FLOAT2(0.0f, 0.0f);
    FOR_ELEMENTS(i) {
        const float r = ADD(a[i], -out[i]);
        sum = add_square(sum, r, r);
        out[i] = flags & WEIGHTED ? MUL(weight[i], r) : r;
    }
    gather_sum(pairs, sum, 0, partial);
}

VECTOR_KERNEL(vector_invert) { FOR_ELEMENTS(i) out[i] = out[i] > scale ? 1.0f / out[i] : 0.0f; }

VECTOR_KERNEL(vector_free) {
    FOR_ELEMENTS(i) if (a[i] <= 0.0f && out[i] < 0.0f) out[i] = 0.0f;
}

VECTOR_KERNEL(vector_scale) { FOR_ELEMENTS(i) out[i] = MUL(out[i], scale); }

VECTOR_KERNEL(vector_advance) {
    LOCAL float2 pairs[ITEMS];
    float2 change = FLOAT2(0.0f, 0.0f), norm = change, below = change;
    FOR_ELEMENTS(i) {
        const float by = flags & WEIGHTED ? MUL(weight[i], a[i]) : a[i], old = out[i];
        float x = ADD(old, MUL(scale, by));
        if (flags & NONNEG && x < 0.0f) {
            below = add_square(below, x, x);
            x = 0.0f;
        }
        out[i] = x;
        const float d = ADD(x, -old);
        change = add_square(change, d, d);
        norm = add_square(norm, x, x);
    }
    gather_sum(pairs, change, 0, partial);
    gather_sum(pairs, norm, 1, partial);
    gather_sum(pairs, below, 2, partial);
}

/* `value` where there is something, and zeros around: lines of `line` floats, of which `used` from `front` on
 * count, `across` lines beside each other, `edge` of them at each end of both directions nothing. */
KERNEL GROUPS_OF(ITEMS, 2) void vector_fill(GLOBAL float *out, ulong count, float value, int line, int front,
                                            int used, int across, int down, int edge) {
    FOR_ELEMENTS(i) {
        const int at = (int)(i % (ulong)line) - front;
        const ulong number = i / (ulong)line;
        const int x = (int)(number % (ulong)across), y = (int)(number / (ulong)across);
        const bool there = at >= 0 && at < used && x >= edge && x < across - edge && y >= edge && y < down - edge;
        out[i] = there ? value : 0.0f;
    }
}
