/* SPDX-License-Identifier: MIT */
#pragma once

#include "bp_cone.h"

/* The condition for bp_cone_circular, checked on the matrices: in every view u and w are constant along z, so that a
 * line of voxels along z reads one profile of the detector at evenly spaced rows.
 *
 * If in addition one plane of voxels (or between voxels) is seen in the same detector row (or between the same rows) at
 * every pixel of every view, rows above and below are mirror images. Then the grid has two halves, counted outward from
 * that plane, which share their coordinates: voxel i of either half is at profile pixel (i + lead) slope - shift.
 * Without the mirror there is one half, the whole grid, counted from plane 0. */
typedef struct qb__cone_circle {
    bool mirrored;
    bool falling; /* row numbers decrease as z grows */
    unsigned halves;
    int64_t z[2];   /* plane of voxel i = 0; the first half goes up in z, the second down */
    int64_t row[2]; /* row of profile pixel j = 0 */
    int row_step[2];
    double lead, shift; /* mirrored */
} qb__cone_circle;

/* Largest error in pixels of coordinates that the kernel takes as constant. */
#define QB__CONE_CIRCLE_TOLERANCE 1e-6

/* False if the matrices do not allow it. */
bool qb__cone_circle_of(const qb__bp_cone_problem *problem, qb__cone_circle *circle);
