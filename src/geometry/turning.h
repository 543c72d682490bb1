/* SPDX-License-Identifier: MIT */
#pragma once

#include "quickbeam/geometry.h"

/* The axis of the frame about which sources, or parallel rays, rotate: 0, 1 or 2 for x, y or z. 2 also if it is neither
 * x nor y. */
int qb__turns_about(const qb_geometry *geometry);
/* QB_BAD_INPUT, with the remedy, if the axis of rotation is x or y. */
qb_status qb__check_turning(const qb_geometry *geometry);
/* Rotate the frame so that the axis x (0) or y (1) becomes z: (x, y, z) becomes (y, z, x) or (x, -z, y). */
void qb__turn_frame(qb_geometry *geometry, int axis);
/* Names of the new axes x, y and z after qb__turn_frame(), in terms of the old ones: "x, -z, y". */
const char *qb__turned_names(int axis);
