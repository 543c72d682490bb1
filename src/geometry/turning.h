/* SPDX-License-Identifier: MIT */
#ifndef QB_GEOMETRY_TURNING_H
#define QB_GEOMETRY_TURNING_H

#include "quickbeam/geometry.h"

/* The axis of the frame about which sources, or parallel rays, turn: 0, 1 or 2 for x, y or z. Also 2 where it is neither x nor y. */
int qb__turns_about(const qb_geometry *geometry);
/* QB_BAD_INPUT, with what to do, where that is x or y. */
qb_status qb__check_turning(const qb_geometry *geometry);
/* Turn the frame so that the axis x (0) or y (1) becomes z: (x, y, z) becomes (y, z, x) or (x, -z, y). */
void qb__turn_frame(qb_geometry *geometry, int axis);
/* "x, -z, y": what x, y and z are then. */
const char *qb__turned_names(int axis);

#endif
