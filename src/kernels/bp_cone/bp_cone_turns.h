/* SPDX-License-Identifier: MIT */
#pragma once

#include "cpu/bp_cone/bp_cone.h"

/* The condition for one fetch to serve several voxels (bp_cone_circular.cl), checked on the matrices. */
typedef struct qb__cone_turns {
    bool mirrored;
    int twice_row, twice_z; /* mirrored: sums of the numbers of two mirrored rows, and of two mirrored slices */
    bool falling;           /* row numbers decrease as z grows */
    bool back;              /* quarter turns: with increasing view number, views turn from y to x */
} qb__cone_turns;

/* NULL if the orbit is a circle on which view v + views / turns sees the grid as view v sees it rotated by 360 / turns
 * degrees (turns 1, 2 or 4), and if rows are mirrored when `mirror` asks for it; else the reason in a few words. */
const char *qb__cone_turns_of(const qb__bp_cone_problem *problem, int turns, bool mirror, qb__cone_turns *out);
