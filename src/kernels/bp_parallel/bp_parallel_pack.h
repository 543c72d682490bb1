/* SPDX-License-Identifier: MIT */
#ifndef QB_KERNELS_BP_PARALLEL_BP_PARALLEL_PACK_H
#define QB_KERNELS_BP_PARALLEL_BP_PARALLEL_PACK_H

#include "bp_parallel_device.h"

/* Packing of plain rows into groups of slices, bp_parallel_pack.cl: what the families texture, alu,
 * hybrid and direct share. */

typedef struct qb__pack {
    unsigned group; /* slices that lie together */
    bool half;
    int columns, batch; /* neighbours of so many rows that an item packs */
    qb__program *program;
    qb__kernel *kernel;
} qb__pack;

/* On failure nothing is left. */
qb_status qb__pack_create(qb__device *device, unsigned group, bool half, qb__pack *pack);
void qb__pack_destroy(qb__pack *pack); /* zeros are fine */

/* Bytes of a packed pass, and where in it, in floats, the factors stand that undo the scaling of
 * halves. */
size_t qb__pack_bytes(const qb__bp_parallel_problem *problem, unsigned slices, unsigned group, bool half);
uint64_t qb__pack_undo_at(const qb__bp_parallel_problem *problem, unsigned slices, unsigned group, bool half);
/* pack() of the contract in bp_parallel_device.h. */
qb_status qb__pack_run(const qb__pack *pack, qb__queue *queue, const qb__bp_parallel_problem *problem,
                       const qb__memory *rows, size_t offset, size_t view_stride, size_t slice_stride, size_t view0,
                       size_t view1, unsigned slices, qb__memory *packed);

#endif
