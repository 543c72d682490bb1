/* SPDX-License-Identifier: MIT */
#pragma once

#include "kernels/icd/icd_device.h"

enum { QB__SUPERVOXELS_FEW = 16 }; /* along an image's longer side: with fewer, a smaller part moves at a time */

typedef struct qb__ranked {
    double amount;
    size_t index;
} qb__ranked;

/* SuperVoxels of a slice, those that a sweep takes, and their batches: Algorithm 3 of Wang et al. (PPoPP 2017). The
 * first sweep takes all; later ones take, in two passes, the share that changed most at the last visit, and then as
 * many chosen at random. Batches have one colour of a checkerboard of four, so that no two are neighbours. */
typedef struct qb__supervoxels {
    size_t count, side, slices;
    int32_t *corner; /* [count] x | y << 16 of the first voxel */
    uint8_t *colour; /* [count] */
    double *amount;  /* [slice][count] change at the last visit */
    bool *visited;   /* [pass][slice][count] in the current sweep */
    size_t places;   /* most places of a batch */
    size_t *fewer;   /* [slice] number of SuperVoxels in a batch of this slice */
    double *cost;    /* [slice] after its last sweep; infinite before the first */
    int share,
        least; /* percent of all that a sweep takes; percent of a batch below which the rest of a colour is left out */
    /* the current sweep, for devices: picked[batch_at[b] + slice * batch_places[b] + place], -1 = none */
    size_t batches, second, used; /* second: the first batch of the second pass; used: entries of picked */
    int32_t *picked;
    size_t *batch_at;
    int32_t *batch_places;
    /* scratch for choosing the sweep */
    size_t *order, *counts; /* [slice][count]; [slice] number of these that the sweep takes */
    size_t *of_colour;      /* [slice] number of these with the current colour */
    qb__ranked *ranked;     /* [count] */
} qb__supervoxels;

typedef struct qb__supervoxels_how {
    size_t side, slices;
    int batch; /* SuperVoxels at a time, in percent of their number along the longer side; fewer for fewer than FEW */
    int share, least;
} qb__supervoxels_how;

/* Largest number of SuperVoxels of a batch, and of all batches. */
size_t qb__supervoxels_places(const qb__icd_problem *problem, const qb__supervoxels_how *how);
size_t qb__supervoxels_most(const qb__icd_problem *problem, size_t side);
/* All SuperVoxels with a voxel inside. Release with destroy, also after a failure. */
qb_status qb__supervoxels_create(const qb__icd_problem *problem, const qb__supervoxels_how *how, qb__supervoxels *s);
/* Upper limit of the entries of picked. */
size_t qb__supervoxels_picked(const qb__supervoxels *s);
void qb__supervoxels_sweep(qb__supervoxels *s, uint64_t seed, int turn, const bool *still);
/* Result of a sweep. SuperVoxels of a batch each correct the same residual as if alone, so on rays that cross many of
 * them the correction is too large. A slice whose cost has risen takes half as many at a time afterwards; one at a time
 * never raises the cost. */
void qb__supervoxels_ease(qb__supervoxels *s, const double *cost);
/* For a descent with its own start. */
void qb__supervoxels_begin(qb__supervoxels *s);
void qb__supervoxels_destroy(qb__supervoxels *s);
