/* SPDX-License-Identifier: MIT */
#pragma once

#include "kernels/icd/icd_device.h"

/* Choice of the tiles that are updated together. The tiles of a batch form a sheared lattice over the slice, so that no
 * two are neighbours and their footprints overlap in few views. The number of tiles follows from the coupling of
 * distant voxels: all n x n voxels of a slice together pull n / tile times as hard as a tile alone, and a batch should
 * not pull harder than one tile. */
typedef struct qb__icd_schedule {
    size_t tiles;
    int32_t *corner;        /* [tiles] x | y << 16 of the first voxel */
    size_t batches, places; /* places: of the largest batch */
    int32_t *batch;         /* [batches][places] tiles, -1 = none */
    /* order of the batches in the current sweep */
    size_t *order; /* [batches] */
} qb__icd_schedule;

/* Schedule of all tiles with a voxel inside. Release with destroy, also after a failure. */
qb_status qb__icd_schedule_create(const qb__icd_problem *problem, size_t wide, size_t high, qb__icd_schedule *schedule);
/* picked[batch][group][places] of a sweep. Neighbouring groups are never at the same tile. first: index of group 0 in
 * the whole job. */
void qb__icd_schedule_sweep(const qb__icd_schedule *schedule, uint64_t seed, int turn, size_t groups, bool joined,
                            size_t first, const bool *still, int32_t *picked);
void qb__icd_schedule_destroy(qb__icd_schedule *schedule);
