/* SPDX-License-Identifier: MIT */
#pragma once

#include "quickbeam/geometry.h"

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
