/* SPDX-License-Identifier: MIT */
#pragma once

#include "geometry/bp_problem.h"
#include "geometry/turn.h"
#include "quickbeam/geometry.h"

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

/* Half acquisition: a full turn of parallel views whose axis is near one side of the detector. A ray on the wide side
 * is measured once, a ray near the axis twice, by views half a turn apart. As for the half fan of a cone beam, each
 * column gets a share, so that the shares of a column and its mirror image about the axis sum to 1:
 *     1/2 near the axis; from half of the narrow side on it rises to 1, on the other side it falls
 *     to 0 at the detector's end.
 * Rows are extended by zeros on the narrow side to the width of the wide one, because a filtered row is not zero beyond
 * its end. Sums over opposite views then correspond to rows twice as wide as the wide side. The shares of 1/2 near the
 * axis keep the noise of two measurements there. */
typedef struct qb__half_fan {
    bool used;
    bool off_center;               /* the axis is near one side, for any range of angles */
    double covered;                /* degrees of the turn that the views cover, if they were given; else 0 */
    size_t columns, before, after; /* measured columns; columns added on the left and right */
} qb__half_fan;

/* True if the views (radians, any order) cover a full turn except for gaps of at most 30 degrees each; `covered`:
 * degrees, may be NULL. QB_NO_MEMORY, QB_BAD_INPUT for angles that are not finite. */
qb_status qb__turns_fully(size_t views, const double *radians, bool *full, double *covered);

/* How rows are extended for an axis at columns first..last (a sweep; else equal). Used if one side is wider than the
 * other by 5 % of the columns and by more than two columns. */
qb__half_fan qb__half_fan_of(size_t columns, double first, double last);
/* qb__half_fan_of for views at `radians`. Used only for a full turn; gaps of 30 degrees are allowed, and of 60 if the
 * narrow side is less than a third of the wide one. If the axis is not known yet (NAN), rows are not extended.
 * QB_NO_MEMORY, QB_BAD_INPUT as qb__turns_fully. */
qb_status qb__half_fan_of_views(size_t views, const double *radians, size_t columns, double first, double last,
                                qb__half_fan *fan);
/* Columns of the extended rows, which is the width in voxels of a slice of all that was seen. */
size_t qb__half_fan_width(const qb__half_fan *fan);
/* "full turn", or the part of it. */
void qb__half_fan_turn(const qb__half_fan *fan, char *text, size_t size);
/* Write a note on the width of the slices for an axis at `center`. */
void qb__half_fan_report(const qb__half_fan *fan, double center, char *text, size_t size);
/* share[columns] for an axis at `center`, 0 <= center <= columns - 1. */
void qb__half_fan_shares(size_t columns, double center, float *share);
/* Weights for a view of a turn with gaps: opposite rays fill a gap near the axis. */
void qb__half_fan_view_shares(const qb__turn *turn, size_t view, size_t columns, double center, float *share);
