/* SPDX-License-Identifier: MIT */
#pragma once

#include "center/center_pairs.h"

/* Views half a turn apart, one of them mirrored about the axis at column c, show the same image turned by twice the
 * remaining rotation e of the detector. To first order
 *     a - b = 2 e (z dM/dx - x dM/dz) + 2 s dM/dx,     M = (a + b) / 2,
 * with x from the axis, z from the middle row, and s the error of c. The columns of single rows show only the term with
 * z. This fit also sees edges that move up on one side and down on the other; a nearly round object has few other
 * edges. e and s are the least-squares solution over all added pairs. */
typedef struct qb__center_turn {
    double ss, se, ee, s, e;
} qb__center_turn;

/* Adds sinograms[3][views][columns] of three neighbouring rows. The middle one lies `above` rows above the middle of
 * the detector. The axis is at `column`. */
void qb__center_turn_add(const float *sinograms, size_t views, size_t columns, const qb__center_pairs *pairs,
                         double column, double above, qb__center_turn *turn);
/* e in radians; NAN if the data do not determine it. */
double qb__center_turn_angle(const qb__center_turn *turn);
