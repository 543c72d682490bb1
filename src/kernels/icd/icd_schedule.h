/* SPDX-License-Identifier: MIT */
#ifndef QB_KERNELS_ICD_ICD_SCHEDULE_H
#define QB_KERNELS_ICD_ICD_SCHEDULE_H

#include "kernels/icd/icd_device.h"

/* Which tiles are updated together. Tiles of a batch form a sheared lattice over the slice, so that none is
 * another's neighbour and their shadows meet in few views. How many there may be follows from the coupling
 * of voxels far apart: all of a slice's n x n voxels together pull n / tile times as hard as a tile by
 * itself does, and a batch should not pull harder than that tile. */
typedef struct qb__icd_schedule {
    size_t tiles;
    int32_t *corner;        /* [tiles] x | y << 16 of the first voxel */
    size_t batches, places; /* places: of the largest batch */
    int32_t *batch;         /* [batches][places] tiles, -1 = none */
    /* of one sweep: */
    size_t *order; /* [batches] */
} qb__icd_schedule;

/* Schedule of all tiles with a voxel inside. Release with destroy, also on failure. */
qb_status qb__icd_schedule_create(const qb__icd_problem *problem, size_t wide, size_t high, qb__icd_schedule *schedule);
/* picked[batch][group][places] of a turn. Groups that are neighbours are never at the same tile. first: of the whole
 * job's slices, that of group 0. */
void qb__icd_schedule_sweep(const qb__icd_schedule *schedule, uint64_t seed, int turn, size_t groups, bool joined,
                            size_t first, const bool *still, int32_t *picked);
void qb__icd_schedule_destroy(qb__icd_schedule *schedule);

#endif
