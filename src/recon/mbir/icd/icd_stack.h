/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/pool.h"
#include "kernels/icd/icd_device.h"
#include "ops/filter.h"
#include "ops/system_matrix.h"
#include "quickbeam/env.h"
#include "recon/mbir/icd/icd_halo.h"

/* Iterative coordinate descent on a stack of slices, 16 at a time (cpu/icd/icd.h).
 *
 * Independent slices form groups of 16 in their order, and each group stops by itself. With a prior between slices,
 * lane l of group g is slice l * groups + g, so that two neighbours are never updated together. Even groups are
 * updated, then odd ones. If the number of groups is odd, the last one, a neighbour of the first, is updated alone. Up
 * to 16 slices are one group, whose even lanes step before its odd ones, voxel by voxel. All groups stop together. If
 * other ranks have the neighbouring slices (icd_halo.h), every rank has an even number of groups, and groups of even
 * slices of the whole job come first.
 *
 * Within a group, tiles are visited in a new random order in each sweep, and a tile line by line, back and forth. One
 * thread works on a group, so results do not depend on the number of threads. */

typedef enum qb__icd_weighting {
    QB__WEIGH_NONE,
    QB__WEIGH_TRANSMISSION,      /* exp(-y) */
    QB__WEIGH_TRANSMISSION_ROOT, /* exp(-y / 2) */
    QB__WEIGH_EMISSION,          /* 1 / (|y| + 0.1) */
    QB__WEIGH_GIVEN,             /* weights given by the caller */
    QB__WEIGH_MEASURED           /* 1, but 0 for masked values */
} qb__icd_weighting;

/* The weight of a line integral; 0 for NaN, which was not measured. */
float qb__icd_weigh(qb__icd_weighting weighting, float y);
/* All weights are 0 or 1, so that sigma_y can be moved into the prior. */
static inline bool qb__icd_even(qb__icd_weighting weighting) {
    return weighting == QB__WEIGH_NONE || weighting == QB__WEIGH_MEASURED;
}

typedef struct qb__icd_settings {
    qb__icd_prior prior; /* interslice 0: slices are independent */
    double pull;         /* coefficient of the pull toward an image, instead of the prior; 0 = none */
    qb__icd_weighting weighting;
    double sigma_y;      /* weights are divided by its square */
    bool positive, skip; /* keep voxels >= 0; skip zeros among zeros in two sweeps of three */
    double radius;       /* radius in voxels: voxels farther than this from the centre of the grid stay 0 */
    int equits;          /* maximum; an equit is one update per voxel */
    /* stop if voxels change by less than this share of their mean and the forecast decrease of the cost is smaller; 0 =
     * never */
    double stop;
    uint64_t seed;            /* seed of the order of tiles */
    bool supervoxels;         /* CPU: one slice after another, each by all threads (icd_bands.h) */
    const qb__icd_halo *halo; /* neighbouring slices on other ranks; NULL = none */
} qb__icd_settings;

/* State after each sweep over all tiles. */
typedef struct qb__icd_trace {
    double equits; /* so far, mean over all slices */
    double change; /* mean |x' - x| / mean |x| of the group that changed most */
    double cost;   /* cost of the whole stack */
    /* forecast remaining decrease of the cost (icd_fall.h), relative to it, of the group with the largest */
    double rest;
    double rmse; /* distance to the watcher's reference image; 0 = none */
} qb__icd_trace;

typedef struct qb__icd_stack qb__icd_stack;

/* Called after each sweep; returns true to stop. */
typedef struct qb__icd_watch {
    bool (*turn)(void *self, const qb__icd_stack *stack, const qb__icd_trace *trace);
    void *self;
    const char *units; /* units of the trace's rmse; NULL = turn() does not set it */
} qb__icd_watch;

/* Make a stack for `slices` slices on the CPU. `kind` says how the caller's matrix keeps its columns. */
qb_status qb__icd_stack_create(qb__system_matrix *matrix, qb_mbir_matrix kind, const qb__icd_settings *settings,
                               size_t slices, qb__pool *pool, qb__icd_stack **stack);
/* Make a stack on a device, with a kernel and its parameters; `all` = slices of the whole job. */
qb_status qb__icd_stack_create_on(qb__device *device, const qb__icd_device_variant *variant, const int *values,
                                  const qb__system_matrix *matrix, const qb__icd_settings *settings, size_t slices,
                                  size_t all, qb__pool *pool, qb__icd_stack **stack);
/* Bytes of a stack on the CPU, without the matrix. */
size_t qb__icd_stack_bytes(const qb__system_matrix *matrix, const qb__icd_settings *settings, size_t slices,
                           int threads);
typedef struct qb__icd_room {
    size_t device, host;
} qb__icd_room;
/* Groups on the CPU, and the number of rounds of threads that an equit takes. */
typedef struct qb__icd_rounds {
    size_t groups, turns;
} qb__icd_rounds;
qb__icd_rounds qb__icd_stack_rounds(const qb__icd_settings *settings, size_t slices, int threads);
qb__icd_room qb__icd_stack_room(const qb__icd_device_variant *variant, const int *values,
                                const qb__system_matrix *matrix, const qb__icd_settings *settings, size_t slices,
                                size_t all);
/* True if the CPU is faster slice by slice: for a few independent slices, because a thread updates a group of 16 in the
 * time of about ten single slices. It does not depend on the number of threads, because results must not. */
bool qb__icd_stack_slicewise(const qb__icd_settings *settings, size_t slices);
size_t qb__icd_pixels(size_t nx, size_t ny, double radius); /* pixels of a slice that may change */
void qb__icd_stack_destroy(qb__icd_stack *stack);           /* NULL-safe */

/* Input of a stack, owned by the caller. Images are [slice][iy][ix]. */
typedef struct qb__icd_given {
    /* [(view * slices + slice) * columns + column]. Masked line integrals are NaN and have weight 0; with
     * QB__WEIGH_NONE there are none. weights: NULL unless QB__WEIGH_GIVEN; 0 where line integrals are NaN. */
    const float *lines, *weights;
    double most; /* larger values are bridged in the start image, where they would cause streaks; 0 = no limit */
    /* [slice] factor of the filtered back-projection that compensates for views that are NaN; NULL = 1 */
    const float *more;
    const float *toward; /* images toward which voxels are pulled, with settings.pull */
    /* The start: images; if NULL, filtered back-projection by `filter` and theta[view]; if that is NULL, a constant. */
    const float *images;
    const qb__filter *filter;
    const double *theta;
    double constant;
    /* description of the line integrals for the message of an overflow; must outlive the stack; NULL = none */
    const char *told;
} qb__icd_given;
/* Row `row` of the line integrals for the start image, with gaps filled; returns the factor of its view. */
float qb__icd_start_row(const qb__icd_given *given, size_t row, size_t slice, size_t columns, float *to);
/* QB_BAD_INPUT for an infinite line integral and for weights that are negative, not finite, or all zero. Voxels without
 * weighted rays keep the value toward which they are pulled. */
qb_status qb__icd_stack_start(qb__icd_stack *stack, const qb__icd_given *given);
/* Sweep over all tiles until the equits are done, the changes are small, or `watch` (may be NULL) stops it.
 * trace[*turns] has an entry for each sweep, also for those before a resumed state; *turns is at most
 * qb__icd_sweeps(equits). *stopped gets the reason. QB_BAD_INPUT if numbers overflow, QB_INTERNAL if the cost rises. */
qb_status qb__icd_stack_run(qb__icd_stack *stack, const qb_env *env, const qb__icd_watch *watch, qb__icd_trace *trace,
                            int *turns, const char **stopped);
int qb__icd_sweeps(int equits); /* entries that a trace may have */
/* Save the state after a sweep, piece by piece, or load it (`into`) into a stack that was started with the same data.
 * Further sweeps then give the same bits. */
qb_status qb__icd_stack_state(qb__icd_stack *stack, bool into, qb__icd_piece piece, void *self);
/* Copy a slice: image[iy * nx + ix] = scale * x. */
qb_status qb__icd_stack_image(const qb__icd_stack *stack, size_t slice, float scale, float *image);

/* ---- for engines that sweep stacks ---- */

/* Performs sweeps on a stack: the CPU (icd_stack_cpu.c) or a device (icd_stack_device.c). The stack itself
 * (icd_stack.c) counts equits, watches the cost and decides when to stop. */
typedef struct qb__icd_worker {
    /* As qb__icd_stack_start. */
    qb_status (*start)(void *self, const qb__icd_given *given);
    /* One sweep over the tiles of all groups that are not `still`; fills turned[group]. */
    qb_status (*turn)(void *self, int number, bool skip, const bool *still, const qb_env *env, qb__icd_swept *turned);
    qb_status (*cost)(void *self, double *cost); /* cost[group] */
    qb_status (*image)(void *self, size_t slice, float scale, float *image);
    void (*destroy)(void *self);
    /* Save or load voxels and errors, as qb__icd_stack_state. */
    qb_status (*state)(void *self, bool into, qb__icd_piece piece, void *to);
} qb__icd_worker;

typedef struct qb__icd_shape {
    size_t groups, voxels; /* groups of slices that stop together; voxels of a slice that may change */
    int most;              /* sweeps; at most qb__icd_sweeps() */
    bool joined;           /* all groups stop together */
    /* factor by which the cost may exceed its lowest value before fewer voxels are updated at a time; 0 = 2 */
    double rises;
} qb__icd_shape;

/* Upper limit of sweeps per equit: skipping zeros makes a sweep shorter than an equit, by up to this factor. */
static inline int qb__icd_whole_sweeps(int equits) { return 4 * equits + 16; }

/* Make a stack that `self` sweeps. The stack owns `self`, also after a failure. */
qb_status qb__icd_stack_of(const qb__icd_worker *worker, void *self, const qb__icd_settings *settings,
                           const qb__icd_shape *shape, qb__icd_stack **stack);

/* inside[(ny + 2) (nx + 2)]: 1 where voxels may change. */
void qb__icd_inside(size_t nx, size_t ny, double radius, uint8_t *inside);
/* QB_BAD_INPUT that names line integral or weight number bad - 1 if `bad` is not 0, and if no weight is above 0.
 * weights NULL: by rule. */
qb_status qb__icd_check(const float *lines, const float *weights, size_t bad, bool some, size_t slices, size_t columns);
/* Divide the prior by `scale`, which is the same as multiplying all weights by it. */
void qb__icd_lighten(qb__icd_prior *prior, double scale);
