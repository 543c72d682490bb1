/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* A step of a volume that reduces the cost
 *
 *   data term + sum_pairs b_st rho(x_s - x_t) + pull / 2 sum (x - toward)^2
 *
 * with the prior of cpu/icd/icd.h. Pairs are nearest (4) and diagonal (4) neighbours in a slice, and neighbours in the
 * slices before and after: across a face (2), an edge (8) and a corner (8). Each pair's quadratic surrogate at the
 * present difference is c d^2 / 2 with c = rho'(d) / d. It is divided between the two voxels (De Pierro, IEEE Trans.
 * Med. Imaging 14 (1995) 132): a voxel's slope is sum b c d and its curvature 2 sum b c. All voxels step at once, and
 * the cost does not increase if `curve` is at least the curvature of the data term. */
typedef struct qb__prior_numbers {
    /* coefficients of qb_surrogate in icd_prior.clh */
    float scale, least, per_sigma, log_t, power, pole, p, q, close, offset;
    float nearest, diagonal, interslice, edge, corner; /* weights b of the pairs */
    float pull;
    float data; /* factor: the slope of the data term is `data` times `slope` */
} qb__prior_numbers;

typedef struct qb__prior_volume {
    size_t n[3];         /* number of voxels along x, y, z */
    const float *x;      /* [z][y][x] */
    float *slope;        /* input: slope of the data term; output: x after the step */
    float *curve;        /* curvature of the data term; a voxel with 0 is crossed by no ray and does not change */
    const float *toward; /* image toward which voxels are pulled; NULL: none */
    bool nonneg;         /* keep voxels >= 0 */
    bool only_slopes;    /* no step: slope receives the slope of the cost, curve the curvature of the prior */
    bool cost;           /* compute *cost */
} qb__prior_volume;

/* Handles voxels first <= i < end. Adds to *cost, if wanted, the cost of the prior and the pull at x. All instruction sets give the same bits. */
typedef void qb__prior_step(const qb__prior_numbers *numbers, const qb__prior_volume *volume, size_t first, size_t end,
                            double *cost);
extern qb__prior_step qb__prior_scalar, qb__prior_avx2, qb__prior_avx512;
/* The fastest variant for this CPU. */
qb__prior_step *qb__prior_for_cpu(void);
