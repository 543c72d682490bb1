/* SPDX-License-Identifier: MIT */
#ifndef QB_GEOMETRY_LIMITED_H
#define QB_GEOMETRY_LIMITED_H

#include "quickbeam/env.h"
#include "quickbeam/geometry.h"

/* Warn of what iterative methods cannot know where more than 20 degrees were not measured.
 * Of a cone beam the same, by the
 * directions of sources around the axis if they lie on no circle, and of lengths that can hardly be (geometry/units.h). */
void qb__warn_limited(double covered, double needed, const qb_env *env);
void qb__warn_geometry(const qb_geometry *geometry, const qb_env *env);

#endif
