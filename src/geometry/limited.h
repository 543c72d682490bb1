/* SPDX-License-Identifier: MIT */
#pragma once

#include "quickbeam/env.h"
#include "quickbeam/geometry.h"

/* Warn if more than 20 degrees were not measured, which iterative methods cannot fill. For a cone beam that is not a
 * circle, by the directions of the sources around the axis. Warn also of improbable lengths (geometry/units.h). */
void qb__warn_limited(double covered, double needed, const qb_env *env);
void qb__warn_geometry(const qb_geometry *geometry, const qb_env *env);
