/* SPDX-License-Identifier: MIT */
#pragma once

#include "cpu/icd/icd.h"
#include "device/device.h"
#include "kernels/filter/filter_device.h"

/* Iterative coordinate descent on devices: interface of all variants; see cpu/icd/icd.h for the cost. A stack of slices
 * stays on the device during the descent, in groups of neighbouring slices: lane l of group g is slice g * lanes + l
 * or, if slices are neighbours in the prior, l * groups + g, so that neighbours lie in different groups. All calls wait
 * for the device. */
typedef struct qb__icd_on_device qb__icd_on_device;

/* Images of single slices that ranks exchange; `bytes` of each, in the layout of the stack. */
typedef struct qb__icd_swap {
    float *first, *last;   /* outermost slices of this rank */
    float *before, *after; /* receive the neighbouring slices */
    size_t bytes;
} qb__icd_swap;

/* A stack that is a part of a larger one: its slice 0 is slice `first` of that, and the slices before and after it are
 * elsewhere. */
typedef struct qb__icd_edges {
    bool before, after; /* these neighbours exist */
    size_t first;
    /* Exchange with the other parts. Collective, also for a part that failed (`mine`): then all fail. Slices without a
     * neighbour stay unchanged. */
    qb_status (*swap)(void *self, qb_status mine, const qb__icd_swap *images);
    void *self;
} qb__icd_edges;

/* Parameters, read only while creating. */
typedef struct qb__icd_ask {
    const qb__icd_problem *problem; /* the fetch function in it is not used */
    size_t slices;                  /* slices of this stack */
    size_t all;                     /* slices of the whole job, which determine the groups */
    double pull;                    /* b of an image toward which each voxel is pulled; 0 = none */
    bool joined;                    /* slices are neighbours in the prior */
    const qb__icd_edges *edges;     /* neighbouring slices of other ranks, which do not change; NULL = none */
    bool weighted;
    uint64_t seed; /* seed of the order of tiles */
} qb__icd_ask;

/* Result of a sweep for a group. */
typedef struct qb__icd_swept {
    double change, size; /* sums of |x' - x| and |x'| */
    double updates;      /* voxels; lanes are not counted */
} qb__icd_swept;

/* Callback that stores or fills a part of a state. */
typedef qb_status (*qb__icd_piece)(void *self, void *data, size_t bytes);

typedef struct qb__icd_device_variant {
    qb__variant head; /* unusable() and cost() take a qb__icd_size */
    int programs;     /* number of programs that are compiled */
    bool alone;       /* only independent slices */
    bool chance;      /* last bits depend on the order in which groups run */

    size_t (*turns)(const int *values);                         /* sweeps per equit; NULL = one */
    size_t (*lanes)(const qb__icd_ask *ask, const int *values); /* slices of a group */
    /* Device bytes. */
    size_t (*bytes)(const qb__icd_ask *ask, const int *values);
    qb_status (*create)(qb__device *device, const qb__icd_ask *ask, const int *values, qb__icd_on_device **stack);
    /* x = A' lines, >= 0 if the problem says so; or a constant value. lines[view][slice][column] are in host memory, and
     * are filtered first by `filter`, which works on rows [view][slice] of line integrals; NULL = not filtered. */
    qb_status (*back)(qb__icd_on_device *stack, const float *lines, qb__device_filter *filter);
    qb_status (*fill)(qb__icd_on_device *stack, float value);
    /* x, or the image toward which voxels are pulled, = images[slice][iy][ix]; x >= 0 if the problem says so. */
    qb_status (*put)(qb__icd_on_device *stack, bool toward, const float *images);
    /* error = lines - A x; lines that are NaN have weight 0, if there are weights. rule: number of qb__icd_weighting;
     * given weights, and the prior, are multiplied by `scale`, so that half floats can hold them. */
    qb_status (*begin)(qb__icd_on_device *stack, const float *lines, int rule, const float *weights, float scale);
    /* Visit all voxels once, or those of one sweep; groups that are `still` are skipped; turned[group] gets the
     * result. */
    qb_status (*turn)(qb__icd_on_device *stack, int turn, bool skip, const bool *still, qb__icd_swept *turned);
    /* cost[group], with the current weights. */
    qb_status (*cost)(qb__icd_on_device *stack, double *cost);
    /* image[iy * nx + ix] = scale * x. */
    qb_status (*image)(qb__icd_on_device *stack, size_t slice, float scale, float *image);
    /* Copy errors and voxels piece by piece from the device or, `into` a stack that has begun, to it. */
    qb_status (*state)(qb__icd_on_device *stack, bool into, qb__icd_piece piece, void *self);
    /* How the parameters were adapted to this problem and device, in a few words. */
    void (*say)(const qb__icd_on_device *stack, char *text, size_t bytes);
    void (*destroy)(qb__icd_on_device *stack); /* NULL-safe */
} qb__icd_device_variant;

static inline const qb__icd_device_variant *qb__icd_device_of(const qb__variant *head) {
    return (const qb__icd_device_variant *)head;
}

/* All variants; their number in *count. */
const qb__icd_device_variant *qb__icd_device_variants(size_t *count);

/* Number of groups for this number of slices. */
static inline size_t qb__icd_device_groups(const qb__icd_ask *ask, size_t lanes) {
    const size_t groups = (ask->slices + lanes - 1) / lanes;
    if (ask->edges && ask->slices > 1)
        return groups + groups % 2; /* an even number, so that neighbours always have numbers of different parity */
    return ask->joined && ask->slices > 1 && groups < 2 ? 2 : groups;
}
