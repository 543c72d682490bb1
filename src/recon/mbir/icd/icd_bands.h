/* SPDX-License-Identifier: MIT */
#pragma once

#include "recon/mbir/icd/icd_stack.h"

/* A few slices, one after another, each by all threads: PSV-ICD (Algorithm 2 of Wang et al., PPoPP 2017). The first
 * sweep visits all SuperVoxels. Each later one visits the fifth that changed most at their last visit, and then a
 * random fifth.
 *
 * SuperVoxels have the four colours of a checkerboard, so that neighbours are never updated together. A batch has at
 * most qb__icd_slicewise_at_once() SuperVoxels of one colour, in random order. All of them start from the same error
 * sinogram, and their changes are added in order. The size of a batch depends on the slice only, so results do not
 * depend on threads, and nothing is locked. Created in icd_bands.c, filled in icd_bands_start.c, swept in
 * icd_bands_sweep.c. */
enum { QB__ICD_AT_ONCE = 16 }; /* SuperVoxels of a batch, at most */

typedef struct qb__icd_supervoxel {
    size_t first, count; /* range of its pixels */
    double x, y;         /* its middle, in voxels */
    int colour;
} qb__icd_supervoxel;

typedef enum qb__icd_pass { QB__BANDS_UPDATE, QB__BANDS_BACK, QB__BANDS_CURVE, QB__BANDS_SUBTRACT } qb__icd_pass;

/* Buffers for updating a SuperVoxel. */
typedef struct qb__icd_slot {
    float *error;   /* [stride][width] */
    int32_t *start; /* [stride] of a row of data, its first column */
    float *at;      /* [stride] */
    float *fan;     /* [4][stride] ax, ay, wx, wy of qb__icd_band; NULL = a parallel beam */
    qb__icd_band_moved moved;
} qb__icd_slot;

typedef struct qb__icd_ranked {
    double amount;
    size_t index;
} qb__icd_ranked;

typedef struct qb__icd_single {
    float *error, *weight; /* w (y - A x) and w: [view][row]; 0 in the margins */
    qb__icd_slice image;
    double *amount; /* [supervoxel] change at its last visit */
} qb__icd_single;

typedef struct qb__icd_slicewise {
    qb__icd_settings settings;
    const qb__system_matrix *matrix;
    const qb__icd_variant *variant;
    qb__icd_problem problem;
    qb__icd_bands bands;
    qb__pool *pool;
    size_t slices, row, pixel_count, count, batch; /* count: number of SuperVoxels */
    float *shapes;                                 /* shapes of bands: ax, ay, rise, curvature */
    uint8_t *inside;
    uint32_t *pixels; /* inside pixels, by SuperVoxel */
    qb__icd_supervoxel *supervoxel;
    qb__icd_single *single; /* [slices] */
    float *block;           /* memory of all slices */
    qb__icd_slot *slot;     /* [batch] */
    float *slots;           /* memory of all errors in them */
    float **weight;         /* [thread] [stride][width] */
    char **scratch;         /* [thread] */
    size_t *order;          /* [count] */
    qb__icd_ranked *ranked; /* [count] */
    double *cost;           /* [views + count] */
    /* state of the current pass */
    qb__icd_single *now;
    const size_t *list; /* SuperVoxels of the batch */
    size_t listed;
    qb__icd_pass pass;
    qb__icd_band_moved moved;
    bool skip;
    const qb_env *env;
} qb__icd_slicewise;

/* Size of a batch, limited so that few voxels of a ray change at the same time. */
size_t qb__icd_slicewise_at_once(size_t nx, size_t ny);
size_t qb__icd_slicewise_bytes(const qb__system_matrix *matrix, const qb__icd_settings *settings, size_t slices,
                               int threads);
/* As qb__icd_stack_create. */
qb_status qb__icd_slicewise_create(const qb__system_matrix *matrix, const qb__icd_settings *settings, size_t slices,
                                   qb__pool *pool, qb__icd_stack **stack);
/* As qb__icd_worker's; `self` is a qb__icd_slicewise. */
qb_status qb__icd_slicewise_start(void *self, const qb__icd_given *given);
void qb__icd_slicewise_destroy(void *self);
extern const qb__icd_worker qb__icd_slicewise_on_cpu;

/* Update these `pass` SuperVoxels of s->now, by colour. */
void qb__icd_slicewise_sweep(qb__icd_slicewise *s, const size_t *list, size_t count);
/* 0 .. count - 1 in a new random order. */
void qb__icd_slicewise_shuffle(qb__icd_slicewise *s, uint64_t number);
