/* SPDX-License-Identifier: MIT */
#pragma once

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
