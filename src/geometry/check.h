/* SPDX-License-Identifier: MIT */
#ifndef QB_GEOMETRY_CHECK_H
#define QB_GEOMETRY_CHECK_H

#include "quickbeam/geometry.h"

/* What a file may ask for; more is an error of the file. */
enum { QB__GEOMETRY_MOST_VIEWS = 1 << 22, QB__GEOMETRY_MOST_PIXELS = 1 << 20 };

/* Shape within the limits, every number finite, no view degenerate: QB_BAD_INPUT with the number. QB_UNSUPPORTED for a bent detector whose
 * rows and columns are not at right angles. */
qb_status qb__geometry_check_views(const qb_geometry *geometry);
/* qb__geometry_check_views for methods that need a single source: also QB_UNSUPPORTED for a stack of fans. */
qb_status qb__geometry_check(const qb_geometry *geometry);

/* Allocate the views of a geometry of this shape, checked against the limits. */
qb_status qb__geometry_create(qb_beam beam, size_t views, size_t rows, size_t columns, qb_geometry *geometry);

/* Check and copy; *to owns its views, on success only. */
qb_status qb__geometry_copy(const qb_geometry *from, qb_geometry *to);

/* qb_geometry_describe for a cylinder of this radius about the axis, by which coverage is judged; 0 =
 * all that is seen. */
qb_status qb__geometry_describe(const qb_geometry *geometry, double field, qb_geometry_info *info);

#endif
