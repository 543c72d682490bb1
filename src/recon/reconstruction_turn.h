/* SPDX-License-Identifier: MIT */
#ifndef QB_RECON_RECONSTRUCTION_TURN_H
#define QB_RECON_RECONSTRUCTION_TURN_H

#include "center/center_look.h"
#include "prep/view_opposites.h"
#include "recon/reconstruction_parts.h"

/* Do the views turn as their angles say? Warns where not. opposites: what opposite views of parallel rays show. */
qb_status qb__reconstruction_look_turn(qb__reconstruction *r, const qb__lines_look *lines, const qb_env *env,
                                       qb__opposites *opposites);
/* Where the geometry, or the caller, says that the axis is; NAN: nowhere. radians: [views]. */
void qb__axis_asked(const qb__reconstruction *r, qb__center_look *asked, double *stated, double *radians);
/* Bytes that a look may take, of what streaming will. */
size_t qb__look_room(const qb__reconstruction *r);

#endif
