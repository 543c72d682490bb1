/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/memory.h"
#include "kernels/icd/icd_surrogate.h"
#include "kernels/icd/icd_rows.h"
#include "kernels/icd/icd_supervoxels.h"
#include "kernels/macros.h"

/* Single slices, SuperVoxel by SuperVoxel: data of the host (icd_buffers.c creates it, icd_buffers_run.c runs its
 * kernels). */
enum { QB__BUFFERS_STAGING = 64 << 20 };
enum {
    B_UPDATE,
    B_GAIN,
    B_RETURN,
    B_LOAD,
    B_PLACE,
    B_GATHER,
    B_SUBTRACT,
    B_FILL,
    B_PUT,
    B_SETTLE,
    B_IMAGE,
    B_MISFIT,
    B_ROUGH,
    B_MATRIX,
    B_BUILD,
    B_ALL
};
/* The first parameters of all rows. */
enum { QB__BUFFERS_SIDE, QB__BUFFERS_BATCH, QB__BUFFERS_SHARE, QB__BUFFERS_OWN };
typedef enum qb__buffers_program {
    QB__BUFFERS_START,
    QB__BUFFERS_RETURN,
    QB__BUFFERS_LOCAL,
    QB__BUFFERS_GLOBAL,
    QB__BUFFERS_BUILD,
    QB__BUFFERS_PROGRAMS
} qb__buffers_program;

/* Sizes shared by all slices, in the kernels' types. */
typedef struct qb__buffers_sizes {
    int32_t views, stride, columns, rows, nx, ny, slices; /* rows: numbers of a view, with margins */
    size_t width, buffer, pixels;                         /* columns of a view in a SuperVoxel's buffer; its size */
    /* set by the variant: */
    size_t items, local_bytes, parts; /* items and local memory of a group that updates; groups per SuperVoxel */
} qb__buffers_sizes;

struct qb__icd_on_device {
    qb__device *device;
    qb__queue *queue;
    qb__program *programs[QB__BUFFERS_PROGRAMS];
    qb__kernel *kernel[B_ALL];
    qb__supervoxels list;
    qb__buffers_sizes n;
    bool positive, summed; /* summed: host_sums are up to date */
    uint64_t seed;
    float area,
        /* b: coefficients of neighbours, of diagonal neighbours, and of the image toward which voxels are pulled */
        b[3];
    double neighbours[3]; /* coefficients before the weights are scaled */
    qb__icd_surrogate surrogate;
    qb__memory *rays, *shapes, *inside, *corner, *picked, *error, *root, *x, *curve, *toward, *left, *moved, *stats,
        *sums, *staging;
    qb__memory *matrix, *scales, *starts, *weights, *next, *part; /* used by Algorithm 3 only */
    /* Update a batch of SuperVoxels: icd_update, with the steps before and after it; then the errors are updated. */
    qb_status (*update)(qb__icd_on_device *stack, int32_t picked_at, int32_t places, int32_t skip, int32_t stats_at);
    float (*host_stats)[4];
    float *host_sums; /* [slice][view], then [slice][iy]: parts of the cost */
    double *costs;    /* [slice] */
};

static inline size_t qb__buffers_data(const qb__buffers_sizes *n) {
    return (size_t)n->slices * (size_t)n->views * (size_t)n->rows;
}

static inline size_t qb__buffers_images(const qb__buffers_sizes *n) { return (size_t)n->slices * n->pixels; }

static inline size_t qb__buffers_staging(const qb__buffers_sizes *n) {
    const size_t view = (size_t)n->slices * (size_t)n->columns * sizeof(float);
    const size_t image = (size_t)n->nx * (size_t)n->ny * sizeof(float);
    /* at least two views, of which one is filtered into the other */
    const size_t some = qb__smaller(qb__larger(2 * view, QB__BUFFERS_STAGING), view * qb__larger(2, (size_t)n->views));
    return qb__larger(some, image);
}

static inline size_t qb__buffers_sums(const qb__buffers_sizes *n) {
    return (size_t)n->slices * (size_t)(n->views + n->ny) * sizeof(float);
}

size_t qb__buffers_width(size_t span);
qb__buffers_sizes qb__buffers_sizes_of(const qb__icd_ask *ask, size_t side);
/* Device bytes without those of the variant. */
size_t qb__buffers_room(const qb__buffers_sizes *sizes, const qb__icd_ask *ask, const qb__supervoxels_how *how);
/* Why no variant can solve the problem; NULL = some can. */
const char *qb__buffers_refuses(const qb__device_info *device, const qb__icd_size *size);
/* Allocate memory, lists, a queue; programs are built later. */
qb_status qb__buffers_new(qb__device *device, const qb__icd_ask *ask, const qb__buffers_sizes *sizes,
                          const qb__supervoxels_how *how, qb__icd_on_device **stack);
/* The macros of all programs; a program with its kernels. */
void qb__buffers_shape(const qb__icd_on_device *stack, const qb__icd_ask *ask, qb__macros *macros);
qb_status qb__buffers_build(qb__icd_on_device *stack, qb__buffers_program which, const qb__macros *macros);

/* After the first program is built: data for a fan that all others need. */
qb_status qb__buffers_place(qb__icd_on_device *stack, const qb__icd_problem *problem);

/* Launch a kernel of s: groups in three dimensions, items per group, arguments. */
#define QB__BUFFERS_LAUNCH(which, x, y, z, per, ...)                                                                   \
    qb__kernel_launch(s->kernel[which], s->queue, (const size_t[3]){(size_t)(x), (size_t)(y), (size_t)(z)},            \
                      (const size_t[3]){(size_t)(per), 1, 1}, (const qb__arg[]){__VA_ARGS__},                          \
                      sizeof((const qb__arg[]){__VA_ARGS__}) / sizeof(qb__arg))
/* The first arguments of kernels that compute footprints; n is s's sizes. */
#define QB__BUFFERS_BEAM                                                                                               \
    QB__MEMORY(s->rays), QB__MEMORY(s->shapes), QB__VALUE(s->area), QB__VALUE(n->views), QB__VALUE(n->stride),         \
        QB__VALUE(n->columns)
