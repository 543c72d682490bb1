/* SPDX-License-Identifier: MIT */
#pragma once

#include "center/center_look.h"
#include "prep/view_opposites.h"
#include "recon/reconstruction_parts.h"

/* Warn if the views do not turn as their angles state. opposites: result of comparing opposite views of parallel
 * rays. */
qb_status qb__reconstruction_look_turn(qb__reconstruction *r, const qb__lines_look *lines, const qb_env *env,
                                       qb__opposites *opposites);
/* Column of the axis as the geometry, or the caller, states it; NAN: unknown. radians: [views]. */
void qb__axis_asked(const qb__reconstruction *r, qb__center_look *asked, double *stated, double *radians);
/* Bytes that a check may take, of what streaming will use. */
size_t qb__look_room(const qb__reconstruction *r);
