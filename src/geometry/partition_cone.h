/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Detector rows first <= row < end; first = end if a slab misses the detector. */
typedef struct qb__rows {
    size_t first, end;
} qb__rows;

/* The problem: matrices on voxel indices (qb__matrices_on_grid), row by row, with w > 0 in the whole grid of nx x ny
 * voxels per slice. */
typedef struct qb__rows_problem {
    size_t views;
    const double (*matrix)[12]; /* [views] */
    size_t nx, ny, rows;
} qb__rows_problem;

/* The rows that linear interpolation reads for the slices z0 <= iz < z1, over all views. The image of a box in front of
 * the source is the convex hull of its corners' images, so these limits are exact. */
qb__rows qb__rows_of_slab(const qb__rows_problem *problem, size_t z0, size_t z1);

/* The same in two steps, for several slabs that begin or end with the same slices: the limits of the image of a slice,
 * in rows, over all views; and the rows of a slab from its first and its last slice. */
typedef struct qb__reach {
    double low, high;
} qb__reach;
qb__reach qb__reach_of_slice(const qb__rows_problem *problem, size_t z);
qb__rows qb__rows_between(const qb__rows_problem *problem, qb__reach first, qb__reach last);
/* Share of this range that reads marked rows by linear interpolation; 0 if it misses the detector. */
double qb__reach_share(qb__reach reach, const bool *marked, size_t rows);
