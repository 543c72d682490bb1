/* SPDX-License-Identifier: MIT */
#ifndef QB_CENTER_CENTER_TURN_H
#define QB_CENTER_CENTER_TURN_H

#include "center/center_pairs.h"

/* Views half a turn apart, one of them mirrored about the axis at column c, are the same picture turned by twice the
 * angle that the detector is still turned by: to first order
 *     a - b = 2 e (z dM/dx - x dM/dz) + 2 s dM/dx,     M = (a + b) / 2,
 * with x from the axis, z from the middle row, and s what c is off by. Unlike the rows' own columns, in which only the
 * first term with its z shows, this sees how edges move up on one side and down on the other; a nearly round object
 * has few others. e and s are the least squares over all that is added. */
typedef struct qb__center_turn {
    double ss, se, ee, s, e;
} qb__center_turn;

/* sinograms[3][views][columns] of three neighbouring rows, the middle one so many rows above the detector's middle; the
 * axis at `column`. */
void qb__center_turn_add(const float *sinograms, size_t views, size_t columns, const qb__center_pairs *pairs,
                         double column, double above, qb__center_turn *turn);
/* e in radians; NAN where nothing shows it. */
double qb__center_turn_angle(const qb__center_turn *turn);

#endif
