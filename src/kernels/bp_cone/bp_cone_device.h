/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/variant.h"
#include "cpu/bp_cone/bp_cone.h"
#include "device/device.h"

/* Interface of all device variants of cone-beam back-projection (formula in cpu/bp_cone/bp_cone.h). The scan comes in
 * blocks of views, the volume in slabs. A variant has its own layout for a block's images: pack() makes it from rows,
 * run() adds it to a slab.
 *
 * A variant that packs views half a turn or a quarter of a turn apart together needs them in one block: with turns() =
 * T, a block of the views v0 to v1 holds v0 <= v < v1, then the same + views / T, and so on, T ranges in all; v1 <=
 * views / T.
 *
 * Every voxel adds the views in one order in single precision: the bits do not depend on slabs, blocks or windows. */
typedef struct qb__bp_cone_plan qb__bp_cone_plan; /* defined by the variant */

/* The largest block (views of all its ranges) and window of a plan. */
typedef struct qb__bp_cone_most {
    size_t views, rows;
} qb__bp_cone_most;

/* A slab may have two parts at the same distance from the mirror, the lower one first (geometry/runs.h): slices z0 <= z
 * < z1, the rows that they need, and where these are in a block, as given to pack(). */
typedef struct qb__bp_cone_side {
    size_t z0, z1;
    qb__bp_cone_window window;
    size_t offset, view_stride;
} qb__bp_cone_side;

typedef struct qb__bp_cone_device_variant {
    qb__variant head; /* unusable() and cost() take a qb__bp_cone_problem */

    /* Slices that are computed together: slabs are divided between them. */
    size_t (*layer)(const int *values);
    /* Number of ranges of views in a block; NULL = 1. */
    unsigned (*turns)(const int *values);
    /* True if mirrored slices are computed together: a slab with only one slice of a pair takes the time of both. NULL:
     * false. */
    bool (*mirrored)(const int *values);
    /* Device bytes of a packed block; of a plan. */
    size_t (*packed_bytes)(const qb__bp_cone_problem *problem, qb__bp_cone_most most, const int *values);
    size_t (*plan_bytes)(const qb__device *device, const qb__bp_cone_problem *problem, qb__bp_cone_most most,
                         const int *values);
    /* Compile, and upload the matrices. */
    qb_status (*plan)(qb__device *device, const qb__bp_cone_problem *problem, qb__bp_cone_most most, const int *values,
                      qb__bp_cone_plan **plan);
    /* Replace the matrices of the plan's first `views` views, in the order of the queue; waits for the queue, after
     * which the matrices may be released. NULL: the plan depends on its matrices. */
    qb_status (*set_matrices)(qb__bp_cone_plan *plan, qb__queue *queue, size_t views, const double (*matrix)[12]);
    /* rows: float32 device memory; row r0 + r of the window of view i of the block begins at offset + 4 * (i *
     * view_stride + r * row_stride) bytes; the block has views view0 <= v < view1. Overwrites `packed`. */
    qb_status (*pack)(qb__bp_cone_plan *plan, qb__queue *queue, const qb__memory *rows, size_t offset,
                      size_t view_stride, size_t row_stride, size_t view0, size_t view1, qb__bp_cone_window window,
                      qb__memory *packed);
    /* The block has views view0 <= v < view1 of the scan, and the window has every row that slices z0 <= z < z1 need.
     * Overwrites, or with `more` adds to, out[((z - z0) * ny + y) * nx + x], float32, at `offset` bytes. */
    qb_status (*run)(qb__bp_cone_plan *plan, qb__queue *queue, const qb__memory *packed, size_t view0, size_t view1,
                     qb__bp_cone_window window, size_t z0, size_t z1, qb__memory *out, size_t offset, bool more);
    /* pack and run for a mirrored pair of slabs, whose slices follow each other in `out`. For parameters with
     * mirrored(); NULL: each slab is computed alone. */
    qb_status (*pack_sides)(qb__bp_cone_plan *plan, qb__queue *queue, const qb__memory *rows, size_t row_stride,
                            size_t view0, size_t view1, const qb__bp_cone_side side[2], qb__memory *packed);
    qb_status (*run_sides)(qb__bp_cone_plan *plan, qb__queue *queue, const qb__memory *packed, size_t view0,
                           size_t view1, const qb__bp_cone_side side[2], qb__memory *out, size_t offset, bool more);
    /* Wait for the queue. Returns the largest packed magnitude above the limit that half floats were scaled for, which
     * was cut off; 0: none. NULL: nothing is cut off. */
    qb_status (*beyond)(qb__bp_cone_plan *plan, qb__queue *queue, float *largest);
    void (*destroy)(qb__bp_cone_plan *plan); /* NULL-safe */
} qb__bp_cone_device_variant;

static inline const qb__bp_cone_device_variant *qb__bp_cone_on_device(const qb__variant *head) {
    return (const qb__bp_cone_device_variant *)head;
}

/* True if slabs with two mirrored parts are useful. */
static inline bool qb__bp_cone_pairs(const qb__bp_cone_device_variant *variant, const int *values) {
    return variant->run_sides && variant->mirrored(values);
}

static inline unsigned qb__bp_cone_turns(const qb__bp_cone_device_variant *variant, const int *values) {
    return variant->turns ? variant->turns(values) : 1;
}

/* The rows of each family: bp_cone_circular.c, bp_cone_matrix.c, papers/bp_cone_papers.c. */
typedef struct qb__bp_cone_family {
    const qb__bp_cone_device_variant *rows;
    size_t count;
} qb__bp_cone_family;
extern const qb__bp_cone_family qb__bp_cone_circular_rows, qb__bp_cone_matrix_rows;
