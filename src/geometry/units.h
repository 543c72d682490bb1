/* SPDX-License-Identifier: MIT */
#ifndef QB_GEOMETRY_UNITS_H
#define QB_GEOMETRY_UNITS_H

#include "quickbeam/geometry.h"

/* Larger angles are a mistake, and beyond 1e15 degrees no two views would differ. */
#define QB__MOST_DEGREES 1e6

/* QB_BAD_INPUT with the first angle that is not finite or beyond that. */
qb_status qb__angles_check(const double *radians, size_t count);

/* QB_BAD_INPUT, with the view and the lengths, where a cone's lengths cannot all be in one unit:
 * a pixel larger than the way from the source, a detector a dozen times as wide as it is far. */
qb_status qb__geometry_check_units(const qb_geometry *geometry);

/* What is possible but hardly meant, in one sentence; false when there is nothing. */
bool qb__geometry_doubt(const qb_geometry *geometry, const qb_geometry_info *info, char *text, size_t size);
/* Views too far apart for filtered back-projection. */
bool qb__few_views(const qb_geometry *geometry, const qb_geometry_info *info, char *text, size_t size);

/* Why the source's path is none that FDK is made for, in one sentence; false when it is. */
bool qb__path_unfit(const qb_geometry *geometry, const qb_geometry_info *info, char *text, size_t size);

/* Whether rays reach `middle` (mm) at more than 10 degrees off the plane in which the source turns, in one sentence. */
bool qb__path_steep(const qb_geometry *geometry, const double middle[3], char *text, size_t size);

/* "; they differ by a factor of 1000: ..." where two lengths differ by a power of ten, else "". */
const char *qb__unit_hint(double ratio);

#endif
