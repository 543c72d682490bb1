/* SPDX-License-Identifier: MIT */
#ifndef QB_KERNELS_ICD_ICD_SUPERVOXELS_H
#define QB_KERNELS_ICD_ICD_SUPERVOXELS_H

#include "kernels/icd/icd_device.h"

enum { QB__SUPERVOXELS_FEW = 16 }; /* along an image's longer side: of fewer not so large a part moves at a time */

typedef struct qb__ranked {
    double amount;
    size_t index;
} qb__ranked;

/* SuperVoxels of a slice, which of them a turn takes, and in what batches: Algorithm 3 of Wang et al. (PPoPP 2017). The
 * first turn takes all; each one after it the share that moved most when they were last visited, and then as many
 * drawn at random: its two passes. Batches are of one colour of a checkerboard of four, so that none is another's
 * neighbour. */
typedef struct qb__supervoxels {
    size_t count, side, slices;
    int32_t *corner; /* [count] x | y << 16 of the first voxel */
    uint8_t *colour; /* [count] */
    double *amount;  /* [slice][count] by which each moved when it was last visited */
    bool *visited;   /* [pass][slice][count] in the turn at hand */
    size_t places;   /* most places of a batch */
    size_t *fewer;   /* [slice] how many of these it takes */
    double *cost;    /* [slice] after its last turn; before the first, infinite */
    int share,
        least; /* percent of all that a turn takes; percent of a batch below which the end of a colour is left out */
    /* the turn at hand, as devices want it: picked[batch_at[b] + slice * batch_places[b] + place], -1 = none */
    size_t batches, second, used; /* second: the first batch of the second pass; used: of picked */
    int32_t *picked;
    size_t *batch_at;
    int32_t *batch_places;
    /* while it is drawn */
    size_t *order, *counts; /* [slice][count]; [slice] of these that the turn takes */
    size_t *of_colour;      /* [slice] of these again */
    qb__ranked *ranked;     /* [count] */
} qb__supervoxels;

typedef struct qb__supervoxels_how {
    size_t side, slices;
    int batch; /* SuperVoxels at a time, in percent of how many lie along the longer side; of fewer than FEW, fewer */
    int share, least;
} qb__supervoxels_how;

/* Most SuperVoxels of a batch; and of all batches. */
size_t qb__supervoxels_places(const qb__icd_problem *problem, const qb__supervoxels_how *how);
size_t qb__supervoxels_most(const qb__icd_problem *problem, size_t side);
/* All SuperVoxels with a voxel inside. Release with destroy, also on failure. */
qb_status qb__supervoxels_create(const qb__icd_problem *problem, const qb__supervoxels_how *how, qb__supervoxels *s);
/* Numbers of picked, at most. */
size_t qb__supervoxels_picked(const qb__supervoxels *s);
void qb__supervoxels_sweep(qb__supervoxels *s, uint64_t seed, int turn, const bool *still);
/* What a turn came to. SuperVoxels of a batch answer the same residual, each as if it were alone: where rays meet many of
 * them, more of it than there is. A slice whose cost has risen takes half as many at a time from then on; one at a time
 * never raises it. */
void qb__supervoxels_ease(qb__supervoxels *s, const double *cost);
/* For a descent from a start of its own. */
void qb__supervoxels_begin(qb__supervoxels *s);
void qb__supervoxels_destroy(qb__supervoxels *s);

#endif
