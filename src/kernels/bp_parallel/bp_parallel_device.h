/* SPDX-License-Identifier: MIT */
#ifndef QB_KERNELS_BP_PARALLEL_BP_PARALLEL_DEVICE_H
#define QB_KERNELS_BP_PARALLEL_BP_PARALLEL_DEVICE_H

#include "device/device.h"
#include "geometry/bp_problem.h"

/* Parallel-beam back-projection on devices: the contract of every variant; the mathematics stand in
 * geometry/bp_problem.h. A variant keeps the sinograms of a pass of slices in a layout of its own;
 * pack() makes it on the device from plain rows, run() makes the whole slab from it.
 *
 * Accuracy: the class promised for each api on white noise; the coordinate h is accurate to the
 * class up to 16,384 columns, so it is an integer base in double per tile and view plus a small
 * fraction. */

enum { QB__PARAMETERS_MAX = 12, QB__PARAMETER_VALUES_MAX = 8 };

/* What a tuner may choose: a macro of the kernel's source, its legal values, the first the default.
 * With one legal value it is what tells this row from its family's others, and nothing to tune. */
typedef struct qb__kernel_parameter {
    const char *name;
    int count, values[QB__PARAMETER_VALUES_MAX];
} qb__kernel_parameter;

/* How a kernel's work is cut into groups that load, wait and compute in turns, for what a
 * multiprocessor can have under way at once. All zero: it never waits. */
typedef struct qb__kernel_groups {
    double count;           /* of a launch */
    double items;           /* of a group */
    double local_bytes;     /* of a group */
    double registers;       /* that the compiler takes for an item when it may ... */
    double registers_least; /* ... and below which sums leave registers */
    double sums;            /* of an item */
    int blocks;             /* groups that a multiprocessor is asked to hold, 0 for no wish */
    double round;           /* updates of a group between two waits */
    double wait;            /* clocks of one: barriers, trips to memory */
} qb__kernel_groups;

/* Operations and bytes of one update (one voxel, one view), by the unit that does them. */
typedef struct qb__kernel_cost {
    double texels;       /* texture fetches (of any width up to 8 bytes; 16 bytes count four) */
    double local_bytes;  /* shared memory */
    double arithmetic;   /* fp32 lane instructions: FMA, add, convert, integer */
    double tensor_flops; /* of matrix products, dense */
    double l2_bytes, memory_bytes;
    double texture_apart; /* share of the texture engine's time in which other units rest */
    double launches;      /* of a pass */
    qb__kernel_groups groups;
} qb__kernel_cost;

#define QB__PACKED_MOST (SIZE_MAX / 2)

typedef struct qb__bp_parallel_plan qb__bp_parallel_plan; /* the variant's own */

typedef struct qb__bp_parallel_device_variant {
    const char *id; /* "bp_parallel_linear.tensor" */
    qb_interp interp;
    unsigned apis;         /* QB__API_... or-ed */
    qb_accuracy accuracy; /* on GPUs */
    const char *method;    /* "Algorithm 6: shared-memory cache" */
    unsigned slices_step;  /* slices of a pass are padded to a multiple of this ... */
    unsigned slices_max;   /* ... up to this; 0 = no limit */
    qb__kernel_parameter parameters[QB__PARAMETERS_MAX]; /* ended by name NULL */

    /* NULL when the variant can serve; else why not, in a few words ("needs compute
     * capability 8.0"). values[] as in parameters. */
    const char *(*unusable)(const qb__device_info *device, const qb__bp_parallel_problem *problem,
                            const int *values);
    void (*cost)(const qb__bp_parallel_problem *problem, unsigned slices, const int *values,
                 qb__kernel_cost *cost);
    /* Device bytes of a packed pass of `slices` (a multiple of slices_step); about QB__PACKED_MOST
     * where they are more, so that what stands beside can be added. */
    size_t (*packed_bytes)(const qb__bp_parallel_problem *problem, unsigned slices,
                           const int *values);
    /* Device bytes that a plan for such passes holds, at most: its tables and its texture. */
    size_t (*plan_bytes)(const qb__device *device, const qb__bp_parallel_problem *problem,
                         unsigned slices, const int *values);
    /* Compiles and uploads tables of the geometry. The problem's arrays must outlive the plan;
     * `largest` is of the slices of a pass and is read by pack(), so it may change between passes.
     * `slices`: the most of any pass. */
    qb_status (*plan)(qb__device *device, const qb__bp_parallel_problem *problem, unsigned slices,
                      const int *values, qb__bp_parallel_plan **plan);
    /* rows: float32 device memory; the row of view view0 + i and slice s begins at offset + 4 * (i
     * * view_stride + s * slice_stride) bytes, so that a block of views is filtered and packed at a
     * time; fills the blocks of views view0 <= v < view1 of `packed`; slices beyond become zeros.
     */
    qb_status (*pack)(qb__bp_parallel_plan *plan, qb__queue *queue, const qb__memory *rows,
                      size_t offset, size_t view_stride, size_t slice_stride, size_t view0,
                      size_t view1, unsigned slices, qb__memory *packed);
    /* Overwrites out[(z * ny + y) * nx + x], z < slices, float32, at `offset` bytes. */
    qb_status (*run)(qb__bp_parallel_plan *plan, qb__queue *queue, const qb__memory *packed,
                     unsigned slices, qb__memory *out, size_t offset);
    void (*destroy)(qb__bp_parallel_plan *plan); /* NULL-safe */
} qb__bp_parallel_device_variant;

/* All variants; count in *count. One row a variant, gathered in bp_parallel_device.c from the files
 * of the families (texture, alu, tensor). */
const qb__bp_parallel_device_variant *const *qb__bp_parallel_device_variants(size_t *count);

#endif
