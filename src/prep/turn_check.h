/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/json.h"
#include "prep/row_sample.h"
#include "prep/line_mass.h"
#include "quickbeam/env.h"
#include "quickbeam/geometry.h"

/* A check of whether the views turn as their angles state. For an object that turns, the centre of mass of a detector
 * row moves as a sine of the angle, and the variance about it as a sine of twice the angle: exactly for parallel rays,
 * nearly so near the middle row of a cone. Rows that do not see all of the object are not used. */
typedef struct qb__turn_asked {
    const double *radians;       /* [views] stated angles; NULL: those of the geometry */
    const qb_geometry *geometry; /* NULL: parallel, or a cone of unknown distances */
    bool file; /* the angles are those of a geometry file, other than the one from which `geometry` was read */
    bool cone; /* used without a geometry: rays are not parallel */
} qb__turn_asked;

/* Checks lines[QB__SAMPLE_LINES]: warns if the stated angles cannot be right, and adds "angle_span" to the report (may
 * be NULL). *told (may be NULL): true if it warned. */
qb_status qb__turn_check(const qb__line_mass *lines, const qb__turn_asked *asked, size_t views, const qb_env *env,
                         cJSON *report, bool *told);
