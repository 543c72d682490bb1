/* SPDX-License-Identifier: MIT */
/* The prior of cpu/prior/prior.h, and the vector operations of recon/iterative/solver_mbir.c. */
#include "vectors.clh"
#include "icd_prior.clh"

#define TOWARD 8
#define COST 16
#define SLOPES 32
#define CURVES 64
#define PUT 128
#define CLEAR 256

FUNCTION qb_surrogate surrogate_in(numbers n) {
    qb_surrogate b;
    b.scale = n.v[0], b.least = n.v[1], b.per_sigma = n.v[2], b.log_t = n.v[3], b.power = n.v[4];
    b.pole = n.v[5], b.p = n.v[6], b.q = n.v[7], b.close = n.v[8], b.offset = n.v[9];
    return b;
}

/* Adds the pair of weight w with the voxel `step` floats away. */
#define PAIR(is_there, w, step, counts)                                                                                \
    if ((w) > 0.0f && (is_there)) {                                                                                    \
        const float d_ = ADD(x, -a[(long)i + (step)]), c_ = MUL(w, surrogate_of(s, d_));                               \
        slope = ADD(slope, MUL(c_, d_));                                                                               \
        curve = ADD(curve, c_);                                                                                        \
        if ((counts) && flags & COST) cost = add_square(cost, w, rho_of(s, d_));                                       \
    }

/* Adds the pairs with the slice `step` floats away. */
#define SLICE_OF_PAIRS(is_there, step, counts)                                                                         \
    PAIR(is_there, interslice, step, counts)                                                                           \
    if ((is_there) && (edges > 0.0f || corner > 0.0f)) {                                                               \
        PAIR(west, edges, (step)-along_x, counts)                                                                      \
        PAIR(east, edges, (step) + along_x, counts)                                                                    \
        PAIR(north, edges, (step)-along_y, counts)                                                                     \
        PAIR(south, edges, (step) + along_y, counts)                                                                   \
        PAIR(west &&north, corner, (step)-along_x - along_y, counts)                                                   \
        PAIR(east &&north, corner, (step) + along_x - along_y, counts)                                                 \
        PAIR(west &&south, corner, (step)-along_x + along_y, counts)                                                   \
        PAIR(east &&south, corner, (step) + along_x + along_y, counts)                                                 \
    }

/* a = x, b = slope, c = curve, d = toward. Only slices s0 <= z < s1 step, in others b becomes 0. */
VECTOR_KERNEL(prior_step) {
    const qb_surrogate s = surrogate_in(more);
    const float nearest = more.v[10], diagonal = more.v[11], interslice = more.v[12];
    const float edges = more.v[13], corner = more.v[14], pull = more.v[15];
    float2 cost = FLOAT2(0.0f, 0.0f);
    FOR_ELEMENTS(i) {
        VOXEL(i);
        if (iz < (int)s0 || iz >= (int)s1) {
            b[i] = 0.0f;
            continue;
        }
        const long along_x = line, along_y = (long)plane;
        const bool west = ix > edge, east = ix + 1 < across - edge, north = iy > edge, south = iy + 1 < down - edge;
        const float x = a[i];
        float slope = 0.0f, curve = 0.0f;
        PAIR(west, nearest, -along_x, 0)
        PAIR(east, nearest, along_x, 1)
        PAIR(north, nearest, -along_y, 0)
        PAIR(south, nearest, along_y, 1)
        PAIR(west && north, diagonal, -along_x - along_y, 0)
        PAIR(east && north, diagonal, along_x - along_y, 0)
        PAIR(west && south, diagonal, along_y - along_x, 1)
        PAIR(east && south, diagonal, along_x + along_y, 1)
        SLICE_OF_PAIRS(iz > 0, -1, 0)
        SLICE_OF_PAIRS(iz + 1 < used, 1, 1)
        curve = MUL(2.0f, curve);
        if (flags & TOWARD) {
            const float away = ADD(x, -d[i]);
            slope = ADD(slope, MUL(pull, away));
            curve = ADD(curve, pull);
            if (flags & COST) cost = add_square(cost, MUL(0.5f * pull, away), away);
        }
        slope = ADD(slope, MUL(more.v[16], b[i]));
        if (flags & SLOPES) {
            b[i] = slope;
            c[i] = curve;
            continue;
        }
        const float data = c[i];
        curve = ADD(curve, data);
        float next = data > 0.0f ? ADD(x, -(slope / curve)) : x;
        if (flags & NONNEG && data > 0.0f && !(next > 0.0f)) next = 0.0f;
        b[i] = next;
    }
    GATHER_1(cost);
}

/* a = a slice, b = x, s0: its z. Copies the slice from x; with PUT, to x; with CLEAR, sets it to zero in x. */
VECTOR_KERNEL(prior_slice) {
    FOR_ELEMENTS(i) {
        const ulong nx = (ulong)(across - 2 * edge), iy = i / nx, ix = i % nx;
        if (iy >= (ulong)(down - 2 * edge)) continue;
        const ulong at =
            ((iy + (ulong)edge) * (ulong)across + ix + (ulong)edge) * (ulong)line + (ulong)(front + (int)s0);
        if (flags & (PUT | CLEAR))
            b[at] = flags & PUT ? a[i] : 0.0f;
        else
            a[i] = b[at];
    }
}

/* a = x+, b = x, c = z. Sets z = x+ + s0 (x+ - x) + s1 (x+ - z) and x = x+. Sums: |x+ - x|, |x+|, (z - x+) (x+ - x). */
VECTOR_KERNEL(prior_ahead) {
    float2 change = FLOAT2(0.0f, 0.0f), size = change, against = change;
    FOR_ELEMENTS(i) {
        const float next = a[i], by = ADD(next, -b[i]), back = ADD(next, -c[i]);
        b[i] = next;
        c[i] = ADD(next, ADD(MUL(s0, by), MUL(s1, back)));
        change = add_square(change, fabs(by), 1.0f);
        size = add_square(size, fabs(next), 1.0f);
        against = add_square(against, -back, by);
    }
    GATHER_3(change, size, against);
}

/* a = A x, b = data, c = weights from a file; s0: 1 / sigma_y^2; s1: number of the rule for weights. Sets a = w (a -
 * b), or with CURVES a = w a. Sum: w r^2. */
VECTOR_KERNEL(prior_misfit) {
    float2 misfit = FLOAT2(0.0f, 0.0f);
    FOR_ELEMENTS(i) {
        const float y = b[i + shift];
        float w = s0;
        if (s1 == 1.0f) w = MUL(w, EXP(-y));
        if (s1 == 2.0f) w = MUL(w, EXP(MUL(-0.5f, y)));
        if (s1 == 3.0f) w = w / ADD(fabs(y), 0.1f);
        if (s1 == 4.0f) w = MUL(w, c[i + shift]);
        if (flags & HOLES && AS_INT(y) == (int)0x80000000u) w = 0.0f;
        const float r = flags & CURVES ? a[i] : ADD(a[i], -y);
        a[i] = MUL(w, r);
        misfit = add_square(misfit, MUL(w, r), r);
    }
    GATHER_1(misfit);
}

/* Sum of |a - b|; then b = a. */
VECTOR_KERNEL(prior_moved) {
    float2 change = FLOAT2(0.0f, 0.0f);
    FOR_ELEMENTS(i) {
        change = add_square(change, fabs(ADD(a[i], -b[i])), 1.0f);
        b[i] = a[i];
    }
    GATHER_1(change);
}

/* Sum of (a - b)^2, without elements where b is NaN. */
VECTOR_KERNEL(prior_apart) {
    float2 sum = FLOAT2(0.0f, 0.0f);
    FOR_ELEMENTS(i) {
        if ((AS_INT(b[i]) & 0x7fffffff) > 0x7f800000) continue;
        const float by = ADD(a[i], -b[i]);
        sum = add_square(sum, by, by);
    }
    GATHER_1(sum);
}
