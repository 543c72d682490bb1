/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/memory.h"
#include "kernels/icd/icd_surrogate.h"
#include "kernels/icd/icd_rows.h"
#include "kernels/icd/icd_schedule.h"

/* Many slices at once, tile by tile: data of the host (icd_tiles.c creates it, icd_tiles_run.c runs its kernels). */
enum { QB__TILES_STAGING = 64 << 20 };
enum {
    K_THETA,
    K_SOLVE,
    K_APPLY,
    K_LOAD,
    K_MEAN,
    K_SHARE,
    K_COLLECT,
    K_LIFT,
    K_FILL,
    K_PUT,
    K_IMAGE,
    K_MISFIT,
    K_ROUGH,
    K_ALL
};

/* Sizes shared by all slices, in the kernels' types. */
typedef struct qb__tiles_sizes {
    int32_t views, stride, columns, row, nx, ny, groups, slices, tiles, places, chunks;
    size_t lanes, span, voxels, pixels; /* span: COLUMNS */
} qb__tiles_sizes;

struct qb__icd_on_device {
    qb__device *device;
    qb__queue *queue;
    qb__program *turns, *start;
    qb__kernel *kernel[K_ALL];
    qb__icd_schedule schedule;
    qb__tiles_sizes n;
    size_t items;
    bool joined, weighted, positive;
    qb__icd_edges edges; /* no swap: a stack of its own */
    uint64_t seed;
    float area, b[3];     /* b: coefficients of neighbours */
    double neighbours[3]; /* coefficients before the weights are scaled */
    qb__icd_surrogate surrogate;
    qb__memory *rays, *shapes, *inside, *corner, *picked, *error, *root, *x, *curve, *share, *partial, *steps, *moved,
        *stats, *sums, *staging;
    int32_t *host_picked;
    float (*host_stats)[4];
    float *host_sums;
    float *host_edges; /* edges for qb__icd_swap, and one with its margin */
};

static inline size_t qb__tiles_data(const qb__tiles_sizes *n) {
    return (size_t)n->groups * (size_t)n->views * (size_t)n->row * n->lanes;
}

static inline size_t qb__tiles_images(const qb__tiles_sizes *n) { return (size_t)n->groups * n->pixels * n->lanes; }
/* Floats of all images. With `edges` there is one more slice before the first and one after the last, from other
 * stacks. */
static inline size_t qb__tiles_x(const qb__tiles_sizes *n, bool edges) {
    return qb__tiles_images(n) + (edges ? 2 * n->pixels : 0);
}
static inline size_t qb__tiles_spots(const qb__tiles_sizes *n) { return (size_t)n->groups * (size_t)n->places; }

static inline size_t qb__tiles_staging(const qb__tiles_sizes *n) {
    const size_t view = (size_t)n->slices * (size_t)n->columns * sizeof(float);
    const size_t image = (size_t)n->nx * (size_t)n->ny * sizeof(float);
    const size_t mean = (size_t)n->groups * (size_t)n->views * (size_t)n->columns * sizeof(float);
    /* at least two views, of which one is filtered into the other */
    const size_t some = qb__smaller(qb__larger(2 * view, QB__TILES_STAGING), view * qb__larger(2, (size_t)n->views));
    return qb__larger(mean, qb__larger(some, image));
}

static inline size_t qb__tiles_sums(const qb__tiles_sizes *n) {
    return (size_t)n->groups * qb__larger((size_t)n->views, (size_t)n->tiles) * sizeof(float);
}
