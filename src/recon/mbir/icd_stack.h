/* SPDX-License-Identifier: MIT */
#ifndef QB_RECON_MBIR_ICD_STACK_H
#define QB_RECON_MBIR_ICD_STACK_H

#include "base/pool.h"
#include "ops/filter.h"
#include "ops/system_matrix.h"
#include "quickbeam/env.h"

/* Iterative coordinate descent on a stack of slices, 16 at a time (cpu/icd/icd.h). Slices that know
 * nothing of each other are taken as they come, and each group of 16 stops by itself. With a prior
 * between them, lane l of group g is slice l * groups + g, so that no two neighbours are ever updated
 * together: groups of even number move, then those of odd number, and of an odd number of groups the
 * last by itself, being a neighbour of the first; all stop together. Within a group voxels are taken tile by tile, tiles in an order drawn anew each
 * time, a tile in snakes. One thread works on a group: no bit depends on how many there are. */

typedef enum qb__icd_weighting {
    QB__WEIGH_NONE,
    QB__WEIGH_TRANSMISSION,      /* exp(-y) */
    QB__WEIGH_TRANSMISSION_ROOT, /* exp(-y / 2) */
    QB__WEIGH_EMISSION,          /* 1 / (|y| + 0.1) */
    QB__WEIGH_GIVEN              /* by the caller */
} qb__icd_weighting;

float qb__icd_weigh(qb__icd_weighting weighting, float y);

typedef struct qb__icd_settings {
    qb__icd_prior prior;    /* interslice 0: slices know nothing of each other */
    qb__icd_weighting weighting;
    double sigma_y;         /* weights are divided by its square */
    bool positive, skip;    /* no voxel below zero; zeros among zeros are left out, after the first time */
    double radius;          /* voxels whose middle is farther from the grid's stay zero; in voxels */
    int equits;             /* at most; an equit is as many updates as there are voxels */
    double stop;            /* once voxels change by less than this share of their mean; 0 = never */
    uint64_t seed;          /* of the tiles' order */
} qb__icd_settings;

/* After each turn of all tiles. */
typedef struct qb__icd_trace {
    double equits; /* so far, the mean of all slices */
    double change; /* mean |x' - x| / mean |x|, of the group that changed most */
    double cost;   /* of the whole stack */
} qb__icd_trace;

typedef struct qb__icd_stack qb__icd_stack;

/* Called after each turn; true: that is enough. */
typedef struct qb__icd_watch {
    bool (*turn)(void *self, const qb__icd_stack *stack, const qb__icd_trace *trace);
    void *self;
} qb__icd_watch;

/* Room for `slices`; the matrix, which is the caller's, keeps columns as `kind` says. */
qb_status qb__icd_stack_create(qb__system_matrix *matrix, qb_mbir_matrix kind,
                               const qb__icd_settings *settings, size_t slices, qb__pool *pool,
                               qb__icd_stack **stack);
/* Bytes that it will hold, without the matrix. */
size_t qb__icd_stack_bytes(const qb__system_matrix *matrix, const qb__icd_settings *settings,
                           size_t slices, int threads);
size_t qb__icd_pixels(size_t nx, size_t ny, double radius); /* that may change, of a slice */
void qb__icd_stack_destroy(qb__icd_stack *stack); /* NULL-safe */

/* The data, lines[(view * slices + slice) * columns + column], and weights likewise (NULL unless
 * given), kept by the caller. From filtered back-projection: `filter` and theta[view]; or, without a
 * filter, from `constant`. QB_BAD_INPUT for a number that is none and for weights that are negative,
 * none, or all zero. */
qb_status qb__icd_stack_start(qb__icd_stack *stack, const float *lines, const float *weights,
                              const qb__filter *filter, const double *theta, double constant);
/* Turns of all tiles until enough equits are done, little changes, or `watch`, which may be NULL, has
 * seen enough. trace[*turns], *turns at most
 * qb__icd_turns(equits); *stopped says why. Numbers that overflow end it with QB_INTERNAL. */
qb_status qb__icd_stack_run(qb__icd_stack *stack, const qb_env *env, const qb__icd_watch *watch,
                            qb__icd_trace *trace, int *turns, const char **stopped);
int qb__icd_turns(int equits);
/* x of a slice: image[iy * nx + ix] times `scale`. */
void qb__icd_stack_image(const qb__icd_stack *stack, size_t slice, float scale, float *image);

#endif
