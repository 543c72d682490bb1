/* SPDX-License-Identifier: MIT */
#pragma once

#include "quickbeam/env.h"
#include "quickbeam/geometry.h"

/* Largest sizes that a file may ask for; larger ones are an error of the file. */
enum { QB__GEOMETRY_MOST_VIEWS = 1 << 22, QB__GEOMETRY_MOST_PIXELS = 1 << 20 };

/* Check the shape against the limits, that every number is finite and no view is degenerate: QB_BAD_INPUT with the
 * number. QB_UNSUPPORTED for a curved detector whose rows and columns are not perpendicular. */
qb_status qb__geometry_check_views(const qb_geometry *geometry);
/* qb__geometry_check_views for methods that need a single source: QB_UNSUPPORTED also for a stack of fans. */
qb_status qb__geometry_check(const qb_geometry *geometry);

/* Allocate the views of a geometry of this shape, after a check of the limits. */
qb_status qb__geometry_create(qb_beam beam, size_t views, size_t rows, size_t columns, qb_geometry *geometry);

/* Check and copy; *to owns its views only on success. */
qb_status qb__geometry_copy(const qb_geometry *from, qb_geometry *to);

/* qb_geometry_describe with the coverage judged for a cylinder of this radius about the axis; 0 = the whole field of
 * view. */
qb_status qb__geometry_describe(const qb_geometry *geometry, double field, qb_geometry_info *info);

/* Warn if more than 20 degrees were not measured, which iterative methods cannot fill. For a cone beam that is not a
 * circle, by the directions of the sources around the axis. Warn also of improbable lengths (geometry/units.h). */
void qb__warn_limited(double covered, double needed, const qb_env *env);
void qb__warn_geometry(const qb_geometry *geometry, const qb_env *env);

/* True if the detector moves far to the side between views, as when modules of a detector are stored as views. Then
 * neighbouring views differ, and the object may extend beyond the ends of rows. */
bool qb__is_modular(const qb_geometry *geometry);

/* The axis of the frame about which sources, or parallel rays, rotate: 0, 1 or 2 for x, y or z. 2 also if it is neither
 * x nor y. */
int qb__turns_about(const qb_geometry *geometry);
/* QB_BAD_INPUT, with the remedy, if the axis of rotation is x or y. */
qb_status qb__check_turning(const qb_geometry *geometry);
/* Rotate the frame so that the axis x (0) or y (1) becomes z: (x, y, z) becomes (y, z, x) or (x, -z, y). */
void qb__turn_frame(qb_geometry *geometry, int axis);
/* Names of the new axes x, y and z after qb__turn_frame(), in terms of the old ones: "x, -z, y". */
const char *qb__turned_names(int axis);
