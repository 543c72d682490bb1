/* SPDX-License-Identifier: MIT */
#ifndef QB_KERNELS_ICD_ICD_DEVICE_H
#define QB_KERNELS_ICD_ICD_DEVICE_H

#include "cpu/icd/icd.h"
#include "device/device.h"

/* Iterative coordinate descent on devices: the contract of every variant; the cost stands in cpu/icd/icd.h.
 * A stack of slices lives on the device while it descends, in groups of slices side by side: lane l of
 * group g is slice g * lanes + l or, where slices are each other's neighbours, l * groups + g, so that
 * neighbours lie in different groups. All calls wait until the device is done. */
typedef struct qb__icd_on_device qb__icd_on_device;

/* Images of single slices, which ranks show each other; `bytes` of each, as the stack lays them. */
typedef struct qb__icd_swap {
    float *first, *last;   /* its own outermost slices */
    float *before, *after; /* gets those beside them */
    size_t bytes;
} qb__icd_swap;

/* A stack that is a part of a larger one: slice `first` of that is its slice 0, and those before and after are elsewhere. */
typedef struct qb__icd_edges {
    bool before, after; /* there is one */
    size_t first;
    /* All parts come here at once, also one that failed (`mine`): then all fail. What has no neighbour is let be. */
    qb_status (*swap)(void *self, qb_status mine, const qb__icd_swap *images);
    void *self;
} qb__icd_edges;

/* What is asked for; read while creating only. */
typedef struct qb__icd_ask {
    const qb__icd_problem *problem; /* its fetch is not used */
    size_t slices;                  /* slices of this stack */
    size_t all;                     /* slices of the whole job, which determine the groups */
    double pull;                    /* b of an image that each voxel is pulled toward; 0 = none */
    bool joined;                    /* slices know of each other */
    const qb__icd_edges *edges;     /* neighbouring slices of other ranks, which stay; NULL = none */
    bool weighted;
    uint64_t seed; /* seed of the order of tiles */
} qb__icd_ask;

/* What a sweep did to a group. */
typedef struct qb__icd_swept {
    double change, size; /* sums of |x' - x| and |x'| */
    double updates;      /* voxels, lanes not counted */
} qb__icd_swept;

/* Some of a state, to be kept or to be filled. */
typedef qb_status (*qb__icd_piece)(void *self, void *data, size_t bytes);

typedef struct qb__icd_device_variant {
    qb__variant head; /* unusable() and cost() take a qb__icd_size */
    int programs;     /* number of programs that are compiled */
    bool alone;       /* only slices that know nothing of each other */
    bool chance;      /* last bits are left to chance: which group comes first is seen */

    size_t (*turns)(const int *values);                         /* sweeps that make an equit; NULL = one */
    size_t (*lanes)(const qb__icd_ask *ask, const int *values); /* slices of a group */
    /* Device bytes. */
    size_t (*bytes)(const qb__icd_ask *ask, const int *values);
    qb_status (*create)(qb__device *device, const qb__icd_ask *ask, const int *values, qb__icd_on_device **stack);
    /* x = A' lines, none below zero where the problem says so; or a value. lines[view][slice][column] are the
     * host's. */
    qb_status (*back)(qb__icd_on_device *stack, const float *lines);
    qb_status (*fill)(qb__icd_on_device *stack, float value);
    /* x, or what voxels are pulled toward, = images[slice][iy][ix]; x none below zero where the problem says so. */
    qb_status (*put)(qb__icd_on_device *stack, bool toward, const float *images);
    /* error = lines - A x; lines that are NaN weigh nothing, where there are weights. rule: qb__icd_weighting's number; given weights, and the prior, are multiplied by
     * `scale`, so that halves hold them. */
    qb_status (*begin)(qb__icd_on_device *stack, const float *lines, int rule, const float *weights, float scale);
    /* All voxels once, or as many as make a turn, those of groups that are `still` not at all; turned[group]. */
    qb_status (*turn)(qb__icd_on_device *stack, int turn, bool skip, const bool *still, qb__icd_swept *turned);
    /* cost[group], weights as they are. */
    qb_status (*cost)(qb__icd_on_device *stack, double *cost);
    /* image[iy * nx + ix] = scale * x. */
    qb_status (*image)(qb__icd_on_device *stack, size_t slice, float scale, float *image);
    /* Errors and voxels, piece by piece out of the device's memory or, `into` a stack that has begun, back. */
    qb_status (*state)(qb__icd_on_device *stack, bool into, qb__icd_piece piece, void *self);
    /* What was made of the parameters for this problem on this device, in a few words. */
    void (*say)(const qb__icd_on_device *stack, char *text, size_t bytes);
    void (*destroy)(qb__icd_on_device *stack); /* NULL-safe */
} qb__icd_device_variant;

static inline const qb__icd_device_variant *qb__icd_device_of(const qb__variant *head) {
    return (const qb__icd_device_variant *)head;
}

/* All variants; count in *count. */
const qb__icd_device_variant *qb__icd_device_variants(size_t *count);

/* Groups that so many slices make. */
static inline size_t qb__icd_device_groups(const qb__icd_ask *ask, size_t lanes) {
    const size_t groups = (ask->slices + lanes - 1) / lanes;
    if (ask->edges && ask->slices > 1)
        return groups + groups % 2; /* neighbours have numbers of the other kind, also elsewhere */
    return ask->joined && ask->slices > 1 && groups < 2 ? 2 : groups;
}

#endif
