/* SPDX-License-Identifier: MIT */
#pragma once

#include "quickbeam/geometry.h"

/* The rays to the pixels of one detector column, in voxel indices: the ray to row r is the whole line through origin +
 * r origin_step along along + r along_step. Cone: the origin is the source and its step is 0; parallel: all rows have
 * the same direction. */
typedef struct qb__fan {
    double origin[3], origin_step[3];
    double along[3], along_step[3];
} qb__fan;

/* The rays of a detector column; works for a curved detector, too. */
qb__fan qb__fan_of(const qb_geometry *geometry, const qb_grid *grid, size_t view, size_t column);

/* The main axis (0, 1, 2 = x, y, z) of the ray to a row, along which it passes most voxels; the lower of two equal ones
 * (to 1e-9: rays at 45 degrees have the same axis on every machine and device). */
int qb__fan_axis(const qb__fan *fan, double row);

/* Length of the ray, in mm, between two neighbouring voxel planes of its axis. */
double qb__fan_length(const qb__fan *fan, const double voxel[3], double row);
