/* SPDX-License-Identifier: MIT */
#ifndef QB_RECON_MBIR_ICD_STACK_H
#define QB_RECON_MBIR_ICD_STACK_H

#include "base/pool.h"
#include "kernels/icd/icd_device.h"
#include "ops/filter.h"
#include "ops/system_matrix.h"
#include "quickbeam/env.h"
#include "recon/mbir/icd_halo.h"

/* Iterative coordinate descent on a stack of slices, 16 at a time (cpu/icd/icd.h). Slices that know
 * nothing of each other are taken as they come, and each group of 16 stops by itself. With a prior
 * between them, lane l of group g is slice l * groups + g, so that no two neighbours are ever updated
 * together: groups of even number move, then those of odd number, and of an odd number of groups the
 * last by itself, being a neighbour of the first; all stop together. Where other ranks have the slices beside (icd_halo.h),
 * groups are of even number everywhere, and those of even slices of the whole job move first. Within a group voxels are taken tile by tile, tiles in an order drawn anew each
 * time, a tile in snakes. One thread works on a group: no bit depends on how many there are. */

typedef enum qb__icd_weighting {
    QB__WEIGH_NONE,
    QB__WEIGH_TRANSMISSION,      /* exp(-y) */
    QB__WEIGH_TRANSMISSION_ROOT, /* exp(-y / 2) */
    QB__WEIGH_EMISSION,          /* 1 / (|y| + 0.1) */
    QB__WEIGH_GIVEN,             /* by the caller */
    QB__WEIGH_MEASURED           /* 1, as NONE, but for lines that are NaN: the same bits where none is */
} qb__icd_weighting;

/* 0 of NaN: what was not measured. */
float qb__icd_weigh(qb__icd_weighting weighting, float y);
/* All weights are 1, or 0: sigma_y is taken into the prior in their place. */
static inline bool qb__icd_even(qb__icd_weighting weighting) {
    return weighting == QB__WEIGH_NONE || weighting == QB__WEIGH_MEASURED;
}

typedef struct qb__icd_settings {
    qb__icd_prior prior; /* interslice 0: slices know nothing of each other */
    double pull;         /* b of an image that each voxel is pulled toward, in the place of neighbours'; 0 = none */
    qb__icd_weighting weighting;
    double sigma_y;      /* weights are divided by its square */
    bool positive, skip; /* no voxel below zero; zeros among zeros are left out, two turns of three */
    double radius;       /* voxels whose middle is farther from the grid's stay zero; in voxels */
    int equits;          /* at most; an equit is as many updates as there are voxels */
    double
        stop; /* once voxels change by less than this share of their mean, and the cost will fall by less than this share of it; 0 = never */
    uint64_t seed;            /* of the tiles' order */
    bool supervoxels;         /* on the CPU: slice after slice, each by all threads (icd_bands.h) */
    const qb__icd_halo *halo; /* slices of other ranks beside these; NULL: there are none */
} qb__icd_settings;

/* After each turn of all tiles. */
typedef struct qb__icd_trace {
    double equits; /* so far, the mean of all slices */
    double change; /* mean |x' - x| / mean |x|, of the group that changed most */
    double cost;   /* of the whole stack */
    double
        rest; /* share of it by which it is forecast to fall yet (icd_fall.h), of the group that has most before it */
    double rmse; /* to an image that whoever watches knows of; 0 = nobody has said */
} qb__icd_trace;

typedef struct qb__icd_stack qb__icd_stack;

/* Called after each turn; true: that is enough. */
typedef struct qb__icd_watch {
    bool (*turn)(void *self, const qb__icd_stack *stack, const qb__icd_trace *trace);
    void *self;
    const char *units; /* of the trace's rmse, which turn() may set; NULL: it does not */
} qb__icd_watch;

/* On the CPU: room for `slices`; the matrix, which is the caller's, keeps columns as `kind` says. */
qb_status qb__icd_stack_create(qb__system_matrix *matrix, qb_mbir_matrix kind, const qb__icd_settings *settings,
                               size_t slices, qb__pool *pool, qb__icd_stack **stack);
/* On a device, with a kernel and its parameters; `all`: slices of the whole job. */
qb_status qb__icd_stack_create_on(qb__device *device, const qb__icd_device_variant *variant, const int *values,
                                  const qb__system_matrix *matrix, const qb__icd_settings *settings, size_t slices,
                                  size_t all, qb__pool *pool, qb__icd_stack **stack);
/* Bytes that it will hold: on the CPU, without the matrix; on a device, and beside it. */
size_t qb__icd_stack_bytes(const qb__system_matrix *matrix, const qb__icd_settings *settings, size_t slices,
                           int threads);
typedef struct qb__icd_room {
    size_t device, host;
} qb__icd_room;
/* Groups on the CPU, and how many follow one another in an equit for all to have had their turn. */
typedef struct qb__icd_rounds {
    size_t groups, turns;
} qb__icd_rounds;
qb__icd_rounds qb__icd_stack_rounds(const qb__icd_settings *settings, size_t slices, int threads);
qb__icd_room qb__icd_stack_room(const qb__icd_device_variant *variant, const int *values,
                                const qb__system_matrix *matrix, const qb__icd_settings *settings, size_t slices,
                                size_t all);
/* Whether slices of a job are so few, and know nothing of each other, that the CPU is faster slice by slice: a thread has
 * a group of 16 slices done in the time of about ten. How many threads there are does not count: no bit may depend on them. */
bool qb__icd_stack_slicewise(const qb__icd_settings *settings, size_t slices);
size_t qb__icd_pixels(size_t nx, size_t ny, double radius); /* that may change, of a slice */
void qb__icd_stack_destroy(qb__icd_stack *stack);           /* NULL-safe */

/* What a stack starts with; the caller's. Images are [slice][iy][ix]. */
typedef struct qb__icd_given {
    /* [(view * slices + slice) * columns + column]. Lines that were not measured are NaN, and weigh nothing, but not with
     * QB__WEIGH_NONE: there are none of them then. weights NULL unless given; 0 where lines are NaN. */
    const float *lines, *weights;
    double most;         /* larger ones are gaps of the start's, too: they would streak it; 0 = there are none */
    const float *more;   /* [slice] filtered back-projection times this, for its views that are NaN; NULL = 1 */
    const float *toward; /* images, with settings.pull */
    /* x at first: images, or, these being NULL, filtered back-projection by `filter` and theta[view], or a constant */
    const float *images;
    const qb__filter *filter;
    const double *theta;
    double constant;
    const char
        *told; /* what the lines are like, said where numbers overflow; as long as the stack lives, NULL = nothing */
} qb__icd_given;
/* A line of the start's: lines' row `row`, a view's slice, with its gaps filled, and what its view counts for beside others. */
float qb__icd_start_row(const qb__icd_given *given, size_t row, size_t slice, size_t columns, float *to);
/* QB_BAD_INPUT for a line that is infinite and for weights that are negative, none, or all zero. Voxels that no ray
 * of any weight meets are, for good, what they are pulled toward. */
qb_status qb__icd_stack_start(qb__icd_stack *stack, const qb__icd_given *given);
/* Turns of all tiles until enough equits are done, little changes, or `watch`, which may be NULL, has
 * seen enough. trace[*turns], *turns at most qb__icd_sweeps(equits), those before a state that was taken up
 * counted, whose trace is as it was; *stopped says why. Numbers that overflow end it with QB_BAD_INPUT, a cost that rises with
 * QB_INTERNAL. */
qb_status qb__icd_stack_run(qb__icd_stack *stack, const qb_env *env, const qb__icd_watch *watch, qb__icd_trace *trace,
                            int *turns, const char **stopped);
int qb__icd_sweeps(int equits); /* room for a trace, whoever turns */
/* All that further turns depend on besides the data, after a turn: piece by piece out of the stack or, `into` a stack that
 * was started with the same data, back. Its turns then give the same bits. */
qb_status qb__icd_stack_state(qb__icd_stack *stack, bool into, qb__icd_piece piece, void *self);
/* x of a slice: image[iy * nx + ix] times `scale`. */
qb_status qb__icd_stack_image(const qb__icd_stack *stack, size_t slice, float scale, float *image);

/* ---- for those who turn stacks ---- */

/* Who turns a stack: the CPU (icd_stack_cpu.c), a device (icd_stack_device.c). The stack (icd_stack.c) counts
 * equits, watches the cost and says when it is enough. */
typedef struct qb__icd_worker {
    /* As qb__icd_stack_start. */
    qb_status (*start)(void *self, const qb__icd_given *given);
    /* All tiles once, of groups that are not `still`; turned[group]. */
    qb_status (*turn)(void *self, int number, bool skip, const bool *still, const qb_env *env, qb__icd_swept *turned);
    qb_status (*cost)(void *self, double *cost); /* cost[group] */
    qb_status (*image)(void *self, size_t slice, float scale, float *image);
    void (*destroy)(void *self);
    /* Voxels and errors, as qb__icd_stack_state. */
    qb_status (*state)(void *self, bool into, qb__icd_piece piece, void *to);
} qb__icd_worker;

typedef struct qb__icd_shape {
    size_t groups, voxels; /* of slices that stop together; of a slice, that may change */
    int most;              /* turns; no more than qb__icd_sweeps() */
    bool joined;           /* all groups stop together */
    double rises;          /* times its least value that the cost may come to, where less moves at a time then; 0: 2 */
} qb__icd_shape;

/* Of all tiles. Zero-skipping makes them shorter than an equit: of emptier than this, more are not counted on. */
static inline int qb__icd_whole_sweeps(int equits) { return 4 * equits + 16; }

/* A stack that `self` turns, whose owner it is, also on failure. */
qb_status qb__icd_stack_of(const qb__icd_worker *worker, void *self, const qb__icd_settings *settings,
                           const qb__icd_shape *shape, qb__icd_stack **stack);

/* inside[(ny + 2) (nx + 2)]: 1 where voxels may change. */
void qb__icd_inside(size_t nx, size_t ny, double radius, uint8_t *inside);
/* QB_BAD_INPUT for the line, or weight, number bad - 1, when `bad` is not 0, and unless some weights count. Weights NULL:
 * they are the rule's. */
qb_status qb__icd_check(const float *lines, const float *weights, size_t bad, bool some, size_t slices, size_t columns);
/* All weights times `scale` is the prior by it. */
void qb__icd_lighten(qb__icd_prior *prior, double scale);

#endif
