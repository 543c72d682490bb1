/* SPDX-License-Identifier: MIT */
#pragma once

#include "quickbeam/geometry.h"

/* Larger angles are a mistake; beyond 1e15 degrees views could not be told apart. */
#define QB__MOST_DEGREES 1e6

/* QB_BAD_INPUT with the first angle that is not finite or too large. */
qb_status qb__angles_check(const double *radians, size_t count);

/* QB_BAD_INPUT, with the view and the lengths, if the lengths of a cone cannot have one unit: a pixel larger than the
 * distance from the source, or a detector a dozen times as wide as its distance. */
qb_status qb__geometry_check_units(const qb_geometry *geometry);

/* Possible but improbable lengths, in one sentence; false if there are none. */
bool qb__geometry_doubt(const qb_geometry *geometry, const qb_geometry_info *info, char *text, size_t size);
/* True if views are too far apart for filtered back-projection. */
bool qb__few_views(const qb_geometry *geometry, const qb_geometry_info *info, char *text, size_t size);

/* Why the source's path does not suit FDK, in one sentence; false if it does. */
bool qb__path_unfit(const qb_geometry *geometry, const qb_geometry_info *info, char *text, size_t size);

/* True, with one sentence, if rays reach `middle` (mm) at more than 10 degrees off the source's plane. */
bool qb__path_steep(const qb_geometry *geometry, const double middle[3], char *text, size_t size);

/* "; they differ by a factor of 1000: ..." if two lengths differ by a power of ten, else "". */
const char *qb__unit_hint(double ratio);
