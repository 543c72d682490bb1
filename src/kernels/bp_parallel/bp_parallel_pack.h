/* SPDX-License-Identifier: MIT */
#pragma once

#include "bp_parallel_device.h"

/* Packing of rows into groups of slices, bp_parallel_pack.cl: shared by the families texture, alu, hybrid and
 * direct. */

typedef struct qb__pack {
    unsigned group; /* slices that are stored together */
    bool half;
    int columns, batch; /* neighbouring columns and rows that an item packs */
    qb__program *program;
    qb__kernel *kernel;
} qb__pack;

/* After a failure nothing is left. */
qb_status qb__pack_create(qb__device *device, unsigned group, bool half, qb__pack *pack);
void qb__pack_destroy(qb__pack *pack); /* a zeroed struct is allowed */

/* Bytes of a packed pass, and the index in floats of the inverse scales of half floats. */
size_t qb__pack_bytes(const qb__bp_parallel_problem *problem, unsigned slices, unsigned group, bool half);
uint64_t qb__pack_undo_at(const qb__bp_parallel_problem *problem, unsigned slices, unsigned group, bool half);
/* pack() of the interface in bp_parallel_device.h. */
qb_status qb__pack_run(const qb__pack *pack, qb__queue *queue, const qb__bp_parallel_problem *problem,
                       const qb__memory *rows, size_t offset, size_t view_stride, size_t slice_stride, size_t view0,
                       size_t view1, unsigned slices, qb__memory *packed);
