/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

#include "geometry/bp_problem.h"
#include "quickbeam/geometry.h"
#include "quickbeam/recon.h"

/* For each view the detector column h = ax ix + ay iy + h0 of the voxel with indices ix, iy, for bp_parallel_*. ax, ay,
 * h0 are [geometry->views], owned by the caller. QB_UNSUPPORTED for a cone beam, a degenerate view, and a view whose
 * columns depend on z (a tilted axis). */
qb_status qb__parallel_rows(const qb_geometry *geometry, const qb_grid *grid, double *ax, double *ay, double *h0);

/* Set the distance of detector rows, about its middle, if it differs from that of the columns. */
void qb__parallel_set_rows(qb_geometry *geometry, double pixel_v);

/* Summary of the angles of a parallel-beam scan; angles in degrees modulo 180. */
typedef struct qb__angle_report {
    double coverage;         /* measured degrees of 180 */
    double gap;              /* width of the widest gap, or of the largest step if there is no gap */
    double gap_from, gap_to; /* limits of the gap; gap_to may exceed 180 */
    double missing;          /* width of the gap without a usual step; 0 if there is no gap */
    size_t repeated;         /* views with the direction of an earlier view */
    double capped;           /* share of the half turn that the cap or open gaps remove from the weights, 0..1 */
    bool open;               /* a gap is too wide to be filled by the views at its sides (turn.h) */
    bool even;               /* the directions are evenly spaced over the half turn */
    bool limited;            /* a range of angles was not measured */
    size_t gaps;             /* number of such ranges */
    char text[512];          /* all of it in one line */
} qb__angle_report;

/* Weights that turn a sum over views into the integral over half a turn. Parallel rays at t and t + 180 degrees are
 * equal, so each direction, modulo 180 degrees, stands for half of the steps to its two neighbours, cyclically; views
 * of one direction share its weight. radians[views] in any order, over any number of turns. weights[views] in radians
 * sum to pi: the views next to a gap stand for it, unless the angle is limited (turn.h). Directions that are even to
 * 1/1000 of a step, or to single precision of degrees, get exactly equal weights. `report` may be NULL. QB_BAD_ARGUMENT
 * without views, QB_BAD_INPUT for an angle that is not finite, QB_NO_MEMORY. */
qb_status qb__angle_weights(size_t views, const double *radians, double *weights, qb__angle_report *report);

/* qb__angle_weights with another rule; the report tells what a cap at twice the median removed. */
qb_status qb__angle_weights_as(qb_angle_weights rule, size_t views, const double *radians, double *weights,
                               qb__angle_report *report);

/* A test problem: half a turn in even steps, pixels and voxels of 1 mm, the axis in the middle. *coefficients is the
 * memory that the problem points to, released by the caller, also after a failure. */
qb_status qb__half_turn(qb__bp_parallel_problem *problem, double **coefficients);
