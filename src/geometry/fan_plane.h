/* SPDX-License-Identifier: MIT */
#ifndef QB_GEOMETRY_FAN_PLANE_H
#define QB_GEOMETRY_FAN_PLANE_H

#include "quickbeam/geometry.h"

/* Detector rows near the plane of the source's circle, taken for fans: their rays stay within a slice each, as thick as a
 * row appears at the axis. */
typedef struct qb__fan_plane {
    qb_geometry flat; /* all views without z: of one row, on the plane z = 0, as bent as it is; owned */
    double z, step;   /* z of the first row's slice, where its rays pass the axis; distance between slices; mm */
} qb__fan_plane;

/* Rows row0 <= row < row1 of a cone beam, or of fans one above the other, within `radius` mm of the axis. QB_UNSUPPORTED, with what to do, for a
 * detector that is bent, but not about the source, for rows that lean, so that a column is elsewhere in each, and where a ray strays by more than half a slice from
 * the middle of its own; QB_BAD_INPUT for views that are degenerate; QB_NO_MEMORY. Release with destroy, also on failure. */
qb_status qb__fan_plane_create(const qb_geometry *geometry, size_t row0, size_t row1, double radius,
                               qb__fan_plane *plane);
void qb__fan_plane_destroy(qb__fan_plane *plane); /* NULL-safe */

#endif
