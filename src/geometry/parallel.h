/* SPDX-License-Identifier: MIT */
#ifndef QB_GEOMETRY_PARALLEL_H
#define QB_GEOMETRY_PARALLEL_H

#include <stdbool.h>

#include "geometry/bp_problem.h"
#include "quickbeam/geometry.h"
#include "quickbeam/recon.h"

/* Per view the detector column h = ax ix + ay iy + h0 on which the voxel with indices ix, iy falls:
 * what bp_parallel_* wants. ax, ay, h0 are [geometry->views], the caller's. QB_UNSUPPORTED for a
 * cone beam, a degenerate view, and a view whose columns depend on z (a tilted axis). */
qb_status qb__parallel_rows(const qb_geometry *geometry, const qb_grid *grid, double *ax, double *ay, double *h0);

/* Rows of the detector so far apart, about its middle, where they are not as far apart as its columns. */
void qb__parallel_set_rows(qb_geometry *geometry, double pixel_v);

/* What the angles of a parallel-beam scan amount to; angles here are in degrees modulo 180. */
typedef struct qb__angle_report {
    double coverage;         /* measured degrees of 180 */
    double gap;              /* width of the widest gap, or of the largest step if there is no gap */
    double gap_from, gap_to; /* where it begins and ends; gap_to may exceed 180 */
    double missing;          /* width of the gap without a usual step; 0 if there is no gap */
    size_t repeated;         /* views that share their direction with an earlier one */
    double capped;           /* share of the half turn that the cap or open gaps removed from the weights, 0..1 */
    bool open;               /* a gap is too wide for the views at its sides to stand in (turn.h) */
    bool even;               /* the directions are evenly spaced over the half turn */
    bool limited;            /* some range of angles was not measured */
    size_t gaps;             /* such ranges */
    char text[448];          /* all that in one line */
} qb__angle_report;

/* The weights that turn a sum over views into the integral over half a turn: parallel rays at t and
 * t + 180 degrees are the same, so each direction, modulo 180 degrees, stands for half of the steps
 * to its two neighbours, cyclically; views of one direction share its weight. radians[views] in any
 * order and over any number of turns; weights[views] come out in radians and sum to pi: the views
 * beside a gap stand for it, unless the angle is limited (turn.h). Directions even to 1/1000 of a step, or to what single
 * precision makes of degrees, get exactly equal weights. `report` may be NULL. QB_BAD_ARGUMENT
 * without views, QB_BAD_INPUT for an angle that is not finite, QB_NO_MEMORY. */
qb_status qb__angle_weights(size_t views, const double *radians, double *weights, qb__angle_report *report);

/* qb__angle_weights by another rule; the report says what a cap at twice the median removed. */
qb_status qb__angle_weights_as(qb_angle_weights rule, size_t views, const double *radians, double *weights,
                               qb__angle_report *report);

/* The views of a problem: half a turn in even steps, pixels and voxels of 1 mm, the axis in the
 * middle. *coefficients is what the problem then points at: the caller's to free, also on failure. */
qb_status qb__half_turn(qb__bp_parallel_problem *problem, double **coefficients);

#endif
