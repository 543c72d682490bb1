/* SPDX-License-Identifier: MIT */
#ifndef QB_GEOMETRY_TURN_H
#define QB_GEOMETRY_TURN_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#include "quickbeam/recon.h"

/* A gap wider than this, with no opposite rays, makes a scan one of limited angle (25 degrees in radians). */
#define QB__TURN_LIMITED 0.43633231299858239

/* A range of angles without a view. An arc of measured angles follows it, up to the next gap. */
typedef struct qb__turn_gap {
    double from, width; /* radians: from the last view before it to the first one after it */
    double usual;       /* part of the width that is an ordinary step: half of the steps on both sides */
    size_t before;      /* the direction before it */
    bool open;          /* too wide for the views at its sides to stand in: nothing does */
    double arc, ramp;   /* radians: how long the arc is; how far from its ends it is fully trusted; 0 = nowhere */
} qb__turn_gap;

/* An angle in a gap, with its share of the turn, for which the data of a direction are taken. */
typedef struct qb__turn_stand_in {
    double angle, weight;
} qb__turn_stand_in;

/* How views lie on a circle of directions: a turn of 360 degrees, or the half turn after which parallel rays are
 * the same again. Views of one angle make one direction. The weight of a direction is half of the steps to its two
 * neighbours. A step is a gap where it is more than four times the steps that are usual on both of its sides: an angle where a dense part
 * of a scan meets a sparse one is no gap, a range without views is. The angles of a gap are shared out, in small pieces, among the views
 * beside it, so that the weights sum to the whole turn:
 * up to 15 degrees the two views at its borders have half of it each (which is linear interpolation over the gap), wider gaps are
 * spread over more and more of the views beside them, lest two views stand for a large part of the turn. Of a limited
 * angle nothing is known of what lies far within the gap, and views that stood for it would add more error than value: such a gap is
 * left open. */
typedef struct qb__turn {
    double period; /* radians */
    size_t views, directions;
    size_t *direction;    /* [views] of each view */
    size_t *same;         /* [directions] views there */
    double *angle;        /* [directions] ascending; from the end of the largest step on, so up to two periods */
    double *step;         /* [directions] to the next one */
    double *weight;       /* [directions] without the gaps */
    bool even;            /* all steps are alike */
    size_t gaps, largest; /* largest: the direction before the largest step */
    qb__turn_gap *gap;    /* [gaps] ascending */
    size_t *first;        /* [directions + 1] the stand-ins of direction d: first[d] <= i < first[d + 1] */
    qb__turn_stand_in *stand;
} qb__turn;

static inline double qb__turn_wrap(double angle, double period) {
    const double rest = fmod(angle, period);
    return rest < 0 ? rest + period : rest;
}

/* In any order, over any number of turns. QB_BAD_ARGUMENT without views, QB_BAD_INPUT for an angle that is not finite, QB_NO_MEMORY.
 * SPACING: gaps of any width go to the two views at their borders. CAPPED, EVEN: to none, the weights are the caller's. */
qb_status qb__turn_create(size_t views, const double *radians, double period, qb_angle_weights rule, qb__turn *turn);
void qb__turn_destroy(qb__turn *turn); /* NULL-safe */

/* Weights of the views by a rule: weights[views] in radians. `capped`: the share of the turn that the cap or open gaps take away, 0..1; may be NULL.
 * QB_NO_MEMORY. */
qb_status qb__turn_weigh(const qb__turn *turn, qb_angle_weights rule, double *weights, double *capped);
/* What share of a ray counts, so that with its opposite it makes 1, where views are missing: by trust, so that what a gap
 * lacks is taken from the opposite rays if these were measured, else shared. The opposite of a ray at angle t lies at t + opposite, radians.
 * `place`: 0 if both sides of the detector are equally wide; else where the ray lies in the overlap that both sides see, -1 at the end of
 * the narrow side, beyond 1 on the wide side; then `sided`. The mean over the angles that the view stands for. */
double qb__turn_share(const qb__turn *turn, size_t view, double opposite, bool sided, double place);
/* The widest gap; NULL = none. */
const qb__turn_gap *qb__turn_widest(const qb__turn *turn);
/* Radians of a gap that were not measured. */
double qb__turn_missing(const qb__turn_gap *gap);
bool qb__turn_is_open(const qb__turn *turn); /* whether a gap is left open */
/* Widest range of a gap whose opposite rays are missing, too. In a half turn of parallel rays that is the whole gap. */
double qb__turn_gap_hole(const qb__turn *turn, size_t gap);
/* The largest range of angles that are missing, and whose opposites are missing, too; and all of these together. */
void qb__turn_hole(const qb__turn *turn, double opposite, double *largest, double *from, double *all);

#endif
