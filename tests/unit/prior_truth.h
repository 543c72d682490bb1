/* SPDX-License-Identifier: MIT */
/* A small random volume and the cost of the prior on it in double. Differences of that cost give the slopes that a step
 * must have. */
#ifndef QB_TESTS_PRIOR_TRUTH_H
#define QB_TESTS_PRIOR_TRUTH_H

#include "base/random.h"
#include "check.h"
#include "ops/vectors.h"

enum { MOST = 4096 };

typedef struct trial {
    size_t n[3], count;
    qb__icd_prior prior;
    double pull, data;
    float x[MOST], slope[MOST], curve[MOST], toward[MOST];
} trial;

static double between(qb__random *r, double low, double high) { return low + (high - low) * qb__random_unit(r); }

static void throw_trial(trial *t, qb__random *r) {
    const double wide = qb__random_unit(r) < 0.5 ? 40 : 12;
    const bool long_lines = qb__random_unit(r) < 0.1;
    t->n[0] = (size_t)(long_lines ? between(r, 230, 600) : between(r, 1, wide));
    t->n[1] = (size_t)between(r, 1, long_lines ? 4 : 9);
    t->n[2] = (size_t)between(r, 1, long_lines ? 3 : 7);
    t->count = t->n[0] * t->n[1] * t->n[2];
    const double p = between(r, 1, 2), sigma = exp(between(r, -8, 2));
    t->prior = (qb__icd_prior){.p = p,
                               .q = qb__random_unit(r) < 0.5 ? 2 : between(r, p, 2),
                               .t = exp(between(r, -1, 1)),
                               .sigma = sigma,
                               .nearest = between(r, 0.05, 0.2),
                               .diagonal = qb__random_unit(r) < 0.3 ? 0 : 0.07,
                               .interslice = qb__random_unit(r) < 0.3 ? 0 : 0.11,
                               .edge = qb__random_unit(r) < 0.5 ? 0 : 0.06,
                               .corner = qb__random_unit(r) < 0.5 ? 0 : 0.04};
    t->pull = qb__random_unit(r) < 0.5 ? 0 : between(r, 0.1, 2) / (sigma * sigma);
    t->data = between(r, 0.5, 20);
    for (size_t i = 0; i < t->count; i++) {
        t->x[i] = (float)(sigma * between(r, -4, 4));
        t->slope[i] = (float)(between(r, -3, 3) / sigma);
        t->curve[i] = (float)(between(r, 0.1, 3) / (sigma * sigma));
        t->toward[i] = (float)(sigma * between(r, -4, 4));
    }
}

static double rho_far(const qb__icd_prior *o, double u) {
    const double r = pow(u / o->t, o->q - o->p);
    return pow(u, o->p) / o->p * r / (1 + r);
}

/* The slope of rho, by differences. Below a thousandth of sigma rho is taken as a parabola. */
static double rho_slope(const qb__icd_prior *o, double d) {
    const double u = fmax(fabs(d) / o->sigma, 1e-3), h = 1e-4 * u;
    const double slope = (rho_far(o, u + h) - rho_far(o, u - h)) / (2 * h);
    return slope / u * d / (o->sigma * o->sigma);
}

/* The slope of the cost at voxel i, and twice the sum of b rho'(d) / d over its neighbours. `scale` is the sum of the
 * magnitudes that were added, because errors are measured against it. */
static void slopes_of(const trial *t, size_t i, double *slope, double *curve, double *scale) {
    const long nx = (long)t->n[0], ny = (long)t->n[1], nz = (long)t->n[2];
    const long x = (long)i % nx, y = (long)i / nx % ny, z = (long)i / nx / ny;
    *slope = t->data * (double)t->slope[i], *curve = 0, *scale = fabs(*slope);
    for (long dz = -1; dz <= 1; dz++)
        for (long dy = -1; dy <= 1; dy++)
            for (long dx = -1; dx <= 1; dx++) {
                const long steps = labs(dx) + labs(dy);
                const qb__icd_prior *o = &t->prior;
                const double of[2][3] = {{0, o->nearest, o->diagonal}, {o->interslice, o->edge, o->corner}};
                const double b = of[labs(dz)][steps];
                const long ox = x + dx, oy = y + dy, oz = z + dz;
                if (!(b > 0) || ox < 0 || ox >= nx || oy < 0 || oy >= ny || oz < 0 || oz >= nz) continue;
                const double d = (double)t->x[i] - (double)t->x[(oz * ny + oy) * nx + ox];
                const double by = b * rho_slope(&t->prior, d);
                *slope += by;
                *scale += fabs(by);
                *curve += 2 * b * rho_slope(&t->prior, fmax(fabs(d), 1e-6 * t->prior.sigma)) /
                          fmax(fabs(d), 1e-6 * t->prior.sigma);
            }
    if (t->pull > 0) {
        const double by = t->pull * ((double)t->x[i] - (double)t->toward[i]);
        *slope += by;
        *scale += fabs(by);
        *curve += t->pull;
    }
}

/* Logarithms and powers of floats are right to about 1e-6. */
static void check_slopes(const trial *t, const float *slope, const float *curve) {
    for (size_t i = 0; i < t->count; i++) {
        double want, bent, scale;
        slopes_of(t, i, &want, &bent, &scale);
        assert_close((double)slope[i], want, 2e-5 * scale);
        assert_close((double)curve[i], bent, 2e-5 * bent);
    }
}

/* Checks the volume after a step. A voxel where the data have no curvature keeps its
 * value. */
static void check_step(const trial *t, const float *next, bool nonneg) {
    for (size_t i = 0; i < t->count; i++) {
        double slope, bent, scale;
        slopes_of(t, i, &slope, &bent, &scale);
        bent += (double)t->curve[i];
        double want = (double)t->x[i] - slope / bent;
        if (nonneg && want < 0) want = 0;
        if (!(t->curve[i] > 0)) want = (double)t->x[i];
        assert_close((double)next[i], want, 5e-5 * (scale / bent + fabs((double)t->x[i])));
    }
}

#endif
