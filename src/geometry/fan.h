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

/* Detector rows near the plane of the source's circle, treated as fans: their rays stay within one slice, which is as
 * thick as a row at the axis. */
typedef struct qb__fan_plane {
    qb_geometry flat; /* all views without z: of one row, on the plane z = 0, with the same curvature; owned */
    double z, step;   /* z of the first row's slice, where its rays pass the axis; distance between slices; mm */
} qb__fan_plane;

/* Rows row0 <= row < row1 of a cone beam, or of a stack of fans, within `radius` mm of the axis. QB_UNSUPPORTED, with
 * the remedy, for a detector that is curved but not about the source, for tilted rows whose columns differ, and if a
 * ray is more than half a slice off the middle of its slice; QB_BAD_INPUT for degenerate views; QB_NO_MEMORY. Release
 * with destroy, also after a failure. */
qb_status qb__fan_plane_create(const qb_geometry *geometry, size_t row0, size_t row1, double radius,
                               qb__fan_plane *plane);
void qb__fan_plane_destroy(qb__fan_plane *plane); /* NULL-safe */
