/* SPDX-License-Identifier: MIT */
#ifndef QB_CPU_BP_CONE_BP_CONE_CIRCLE_H
#define QB_CPU_BP_CONE_BP_CONE_CIRCLE_H

#include "bp_cone.h"

/* What makes bp_cone_circular possible, proven from the matrices: along z every view keeps u and w,
 * so that a line of voxels along z reads one profile of the detector, at evenly spaced rows.
 *
 * When, moreover, one plane of voxels (or of their faces) meets the same detector row (or edge) at
 * every pixel of every view, rows above and below it are mirror images. The grid then falls into
 * two halves, counted outward from that plane, that share their coordinates: the i-th voxel of
 * either half lies (i + lead) slope - shift profile pixels out. Without the mirror there is one
 * half, the whole grid, counted from plane 0. */
typedef struct qb__cone_circle {
    bool mirrored;
    bool falling; /* rows decrease as z grows */
    unsigned halves;
    int64_t z[2];   /* plane of voxel i = 0; the first half rises in z, the second falls */
    int64_t row[2]; /* row of profile pixel j = 0 */
    int row_step[2];
    double lead, shift; /* mirrored */
} qb__cone_circle;

/* Coordinates that the kernel takes to be constant may in truth move by this many pixels at most.
 */
#define QB__CONE_CIRCLE_TOLERANCE 1e-6

/* false when the matrices do not allow it. */
bool qb__cone_circle_of(const qb__bp_cone_problem *problem, qb__cone_circle *circle);

#endif
