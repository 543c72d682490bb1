/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

#include "prep/row_sample.h"
#include "prep/line_mass.h"
#include "quickbeam/env.h"

/* Parallel rays: the sum of a row's line integrals is the mass of a slice, the same in every view, if both ends see
 * air. If it varies, numbers are not line integrals (gamma of a picture, beam hardening, scatter), or matter enters the
 * row from above or below. */

/* Evaluates lines[QB__SAMPLE_LINES]. Returns the rms variation of the sums from view to view, relative to their mean;
 * 0: too few rows show all of the object, or noise explains the variation. */
double qb__view_sums_swing(const qb__line_mass *lines, size_t columns);
void qb__view_sums_warn(double swing, const qb_env *env);
