/* SPDX-License-Identifier: MIT */
/* Total variation: the same operations as in recon/iterative/solver_tv.c, which defines the vectors. */
#include "vectors.clh"

/* Differences to the next voxel along each axis; 0 at the last voxel. */
#define DIFFERENCES(x)                                                                                                 \
    const float d0 = ix + 1 < across - edge ? ADD(x[i + (ulong)line], -x[i]) : 0.0f,                                   \
                d1 = iy + 1 < down - edge ? ADD(x[i + plane], -x[i]) : 0.0f,                                           \
                d2 = iz + 1 < used ? ADD(x[i + 1], -x[i]) : 0.0f

/* t = A'y + nu grad'p, with a = A'y, b to d = p, s0 = nu. */
#define UPHILL(t)                                                                                                      \
    const float before = ADD(ADD(b[i - (ulong)line], c[i - plane]), d[i - 1]);                                         \
    const float t = ADD(a[i], MUL(s0, ADD(before, -ADD(ADD(b[i], c[i]), d[i]))))

/* Extrapolates: the step from `old` to `next`, and `more` times the step beyond `next`. */
FUNCTION float beyond(float next, float old, float more) { return ADD(next, MUL(more, ADD(next, -old))); }

/* a: data, b: receives the weights w; only where rays are. With HOLES, a = -0 marks a masked ray with weight 0. Sums:
 * w, number of measured rays. */
VECTOR_KERNEL(tv_weigh) {
    float2 sum = FLOAT2(0.0f, 0.0f), rays = sum;
    FOR_ELEMENTS(i) {
        VOXEL(i);
        const bool hole = flags & HOLES && AS_INT(a[i]) == (int)0x80000000u;
        const float w = hole ? 0.0f : EXP(MUL(-s0, a[i]));
        b[i] = w;
        sum = add_square(sum, w, 1.0f);
        if (!hole) rays = add_square(rays, 1.0f, 1.0f);
    }
    GATHER_2(sum, rays);
}

VECTOR_KERNEL(tv_dual) {
    float2 misfit = FLOAT2(0.0f, 0.0f), square = misfit, product = misfit;
    FOR_ELEMENTS(i) {
        const float r = ADD(a[i], -b[i]), sigma = MUL(s0, d[i]), w = c[i];
        const float next = sigma > 0.0f ? MUL(w, ADD(e[i], MUL(sigma, r)) / ADD(w, sigma)) : MUL(w, r);
        e[i] = beyond(next, e[i], s1);
        misfit = add_square(misfit, MUL(w, r), r);
        if (w > 0.0f) square = add_square(square, next / w, next);
        product = add_square(product, next, b[i]);
    }
    GATHER_3(misfit, square, product);
}

VECTOR_KERNEL(tv_misfit) {
    float2 misfit = FLOAT2(0.0f, 0.0f);
    FOR_ELEMENTS(i) {
        const float r = ADD(a[i], -b[i]);
        misfit = add_square(misfit, MUL(c[i], r), r);
    }
    GATHER_1(misfit);
}

VECTOR_KERNEL(tv_slope) {
    float2 square = FLOAT2(0.0f, 0.0f);
    FOR_ELEMENTS(i) {
        VOXEL(i);
        DIFFERENCES(a);
        const float p0 = ADD(b[i], MUL(s0, d0)), p1 = ADD(c[i], MUL(s0, d1)), p2 = ADD(d[i], MUL(s0, d2));
        const float size = sqrt(ADD(ADD(MUL(p0, p0), MUL(p1, p1)), MUL(p2, p2))), by = size > s1 ? s1 / size : 1.0f;
        b[i] = beyond(MUL(by, p0), b[i], s2);
        c[i] = beyond(MUL(by, p1), c[i], s2);
        d[i] = beyond(MUL(by, p2), d[i], s2);
        square = add_square(square, MUL(by, size), MUL(by, size));
    }
    GATHER_1(square);
}

VECTOR_KERNEL(tv_primal) {
    float2 change = FLOAT2(0.0f, 0.0f), norm = change;
    FOR_ELEMENTS(i) {
        VOXEL(i);
        UPHILL(t);
        const float old = f[i];
        float next = ADD(old, -MUL(MUL(s1, e[i]), t));
        if (flags & NONNEG && next < 0.0f) next = 0.0f;
        g[i] = ADD(next + next, -old);
        next = beyond(next, old, s2);
        if (flags & NONNEG && next < 0.0f) next = 0.0f;
        f[i] = next;
        const float by = ADD(next, -old);
        change = add_square(change, by, by);
        norm = add_square(norm, next, next);
    }
    GATHER_2(change, norm);
}

VECTOR_KERNEL(tv_slack) {
    float2 above = FLOAT2(0.0f, 0.0f), below = above, sixth = above, fourth = above;
    FOR_ELEMENTS(i) {
        VOXEL(i);
        UPHILL(t);
        const float x = e[i] < 0.0f ? e[i] : 0.0f, square = MUL(x, x), cube = MUL(square, x);
        above = add_square(above, t > 0.0f ? t : 0.0f, 1.0f);
        below = add_square(below, t < 0.0f ? -t : 0.0f, 1.0f);
        sixth = add_square(sixth, cube, cube);
        fourth = add_square(fourth, square, square);
    }
    GATHER_4(above, below, sixth, fourth);
}

VECTOR_KERNEL(tv_variation) {
    float2 slopes = FLOAT2(0.0f, 0.0f), sixth = slopes, fourth = slopes;
    FOR_ELEMENTS(i) {
        VOXEL(i);
        DIFFERENCES(a);
        const float x = a[i] > 0.0f ? a[i] : 0.0f, square = MUL(x, x), cube = MUL(square, x);
        slopes = add_square(slopes, sqrt(ADD(ADD(MUL(d0, d0), MUL(d1, d1)), MUL(d2, d2))), 1.0f);
        sixth = add_square(sixth, cube, cube);
        fourth = add_square(fourth, square, square);
    }
    GATHER_3(slopes, sixth, fourth);
}

VECTOR_KERNEL(tv_steps) {
    float2 sum = FLOAT2(0.0f, 0.0f);
    FOR_ELEMENTS(i) {
        VOXEL(i);
        sum = add_square(sum, a[i], 1.0f);
        a[i] = 1.0f / ADD(a[i], s0);
    }
    GATHER_1(sum);
}
