/* SPDX-License-Identifier: MIT */
#pragma once

#include "kernels/bp_cone/bp_cone_device.h"

/* Sizes that follow from the parameters of the kernels of exactly circular orbits; only for bp_cone_circular.c. */

/* The parameters of the rows, in order. PACKING: ten times the turns, plus one with the mirror; STAGES and the
 * following ones belong to bp_cone_circular_local.cl and are 0 in other rows. */
enum { TEXTURED, HALF, PACKING, STEPS, COLUMNS, PATCH, GROUPS, STAGES, WARPS, AHEAD, BULK };

static inline unsigned qb__circular_turns(const int *values) { return (unsigned)values[PACKING] / 10; }
static inline bool qb__circular_mirror(const int *values) { return values[PACKING] % 10; }
/* True if boxes are copied to local memory (bp_cone_circular_local.cl). */
static inline bool qb__circular_copies(const int *values) { return values[STAGES] > 0; }
/* Voxels that one cell serves. */
static inline size_t qb__circular_voxels(const int *values) {
    return qb__circular_turns(values) * (qb__circular_mirror(values) ? 2u : 1u);
}
static inline size_t qb__circular_cell_bytes(const int *values) {
    return qb__circular_voxels(values) * (values[HALF] ? 2 : 4);
}

/* Items of a group, and voxels of its tile along x, y and z. */
size_t qb__circular_items(const int *values);
void qb__circular_tile(const int *values, size_t tile[3]);

/* Largest number of cells that a tile of voxels reads of a view, for any view and tile; `rows` is eight more than a
 * multiple of 16. */
typedef struct qb__circular_box {
    size_t columns, rows;
} qb__circular_box;
qb__circular_box qb__circular_box_of(const qb__bp_cone_problem *problem, const size_t tile[3]);

/* Local memory of a group: for the boxes of STAGES views; or, if GROUPS groups do not have so much, all that they have,
 * as a ring of boxes of the size needed; in addition for data of views and lines, and for exchanging sums. */
size_t qb__circular_boxes_bytes(const qb__device_info *device, const qb__bp_cone_problem *problem, const int *values,
                                bool *ring);
size_t qb__circular_ahead_bytes(const int *values);

/* qb__variant.cost; `problem` is a qb__bp_cone_problem. */
void qb__circular_cost(const void *problem, unsigned slices, const int *values, qb__kernel_cost *cost);
