/* SPDX-License-Identifier: MIT */
#ifndef QB_CPU_PRIOR_PRIOR_H
#define QB_CPU_PRIOR_PRIOR_H

#include <stdbool.h>
#include <stddef.h>

/* A step of a volume down the cost
 *
 *   data term + sum_pairs b_st rho(x_s - x_t) + pull / 2 sum (x - toward)^2
 *
 * with the prior of cpu/icd/icd.h on pairs of nearest (4) and diagonal (4) neighbours in a slice, and of neighbours in the slices before
 * and after: across a face (2), an edge (8) and a corner (8). Each pair's quadratic surrogate at the present difference, c d^2 / 2 with c = rho'(d) / d, is parted between its two
 * voxels (De Pierro, IEEE Trans. Med. Imaging 14 (1995) 132): a voxel's slope is sum b c d and its curvature 2 sum b c. All voxels step at
 * once, and the cost does not rise where `curve` is at least the data term's. */
typedef struct qb__prior_numbers {
    float scale, least, per_sigma, log_t, power, pole, p, q, close, offset; /* qb_surrogate of icd_prior.clh */
    float nearest, diagonal, interslice, edge, corner;                      /* b */
    float pull;
    float data; /* the data term's slope is this times `slope` */
} qb__prior_numbers;

typedef struct qb__prior_volume {
    size_t n[3];         /* voxels along x, y, z */
    const float *x;      /* [z][y][x] */
    float *slope;        /* in: the data term's; out: x after the step */
    float *curve;        /* of the data term; a voxel with 0 meets no ray and stays */
    const float *toward; /* NULL: there is no pull */
    bool nonneg;         /* no voxel below zero */
    bool only_slopes;    /* instead of a step: slope = that of the cost, curve = the prior's curvature */
    bool cost;           /* compute sums[0] */
} qb__prior_volume;

/* Voxels first <= i < end. Adds to sums[]: the cost of the prior and the pull at x; by how much the surrogate falls at least. The same
 * bits by every instruction set. */
typedef void qb__prior_step(const qb__prior_numbers *numbers, const qb__prior_volume *volume, size_t first, size_t end,
                            double sums[2]);
extern qb__prior_step qb__prior_scalar, qb__prior_avx2, qb__prior_avx512;
/* The fastest one for this CPU. */
qb__prior_step *qb__prior_for_cpu(void);

#endif
