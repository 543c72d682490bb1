/* SPDX-License-Identifier: MIT */
#ifndef QB_KERNELS_BP_CONE_BP_CONE_TURNS_H
#define QB_KERNELS_BP_CONE_BP_CONE_TURNS_H

#include "cpu/bp_cone/bp_cone.h"

/* What lets one fetch serve several voxels (bp_cone_circular.cl), proven from the matrices. */
typedef struct qb__cone_turns {
    bool mirrored;
    int twice_row, twice_z; /* mirrored: sums of two rows, of two slices, that mirror each other */
    bool falling;           /* rows decrease as z grows */
    bool back;              /* of a quarter turn: with the view's number, views turn from y to x */
} qb__cone_turns;

/* NULL when the orbit is a circle on which view v + views / turns sees the grid as view v sees it turned by 360 / turns
 * degrees (1, 2 or 4), with mirrored rows where `mirror` asks for them; else why not, in a few words. */
const char *qb__cone_turns_of(const qb__bp_cone_problem *problem, int turns, bool mirror, qb__cone_turns *out);

#endif
