/* SPDX-License-Identifier: MIT */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#include "quickbeam/recon.h"

/* A scan with a wider gap than this, without opposite rays, is one of limited angle (25 degrees in radians). */
#define QB__TURN_LIMITED 0.43633231299858239

/* An angular gap: a range without views. An arc of measured angles follows it, up to the next gap. */
typedef struct qb__turn_gap {
    double from, width; /* radians: from the last view before it to the first one after it */
    double usual;       /* part of the width that is an ordinary step: half of the steps on both sides */
    size_t before;      /* the direction before it */
    bool open;          /* too wide to be filled by the views at its sides */
    /* radians: length of the arc; distance from its ends at which it is fully trusted; 0 = nowhere */
    double arc, ramp;
} qb__turn_gap;

/* An angle in a gap, with its share of the turn, for which the data of a direction are used. */
typedef struct qb__turn_stand_in {
    double angle, weight;
} qb__turn_stand_in;

/* Views on a circle of directions: a turn of 360 degrees, or the half turn after which parallel rays repeat. Views of
 * one angle are one direction. The weight of a direction is half of the steps to its two neighbours.
 *
 * A step is a gap if it is more than four times the usual steps on both of its sides: so the border between a dense and
 * a sparse part of a scan is no gap. The angles of a gap are distributed, in small pieces, to the views next to it, so
 * that the weights sum to the whole turn. Up to 15 degrees the two views at its borders get half of it each (linear
 * interpolation over the gap). Wider gaps are distributed over more and more views, so that two views do not stand for
 * a large part of the turn. For a limited angle, views that stood for the middle of the gap would add more error than
 * value: such a gap is left open. */
typedef struct qb__turn {
    double period; /* radians */
    size_t views, directions;
    size_t *direction;    /* [views] direction of each view */
    size_t *same;         /* [directions] number of views of a direction */
    double *angle;        /* [directions] ascending, from the end of the largest step on; so up to two periods */
    double *step;         /* [directions] angle to the next direction */
    double *weight;       /* [directions] weight without gaps */
    bool even;            /* all steps are equal */
    size_t gaps, largest; /* largest: the direction before the largest step */
    qb__turn_gap *gap;    /* [gaps] ascending */
    size_t *first;        /* [directions + 1] stand-ins of direction d: first[d] <= i < first[d + 1] */
    qb__turn_stand_in *stand;
} qb__turn;

static inline double qb__turn_wrap(double angle, double period) {
    const double rest = fmod(angle, period);
    return rest < 0 ? rest + period : rest;
}

/* Views in any order, over any number of turns. QB_BAD_ARGUMENT without views, QB_BAD_INPUT for an angle that is not
 * finite, QB_NO_MEMORY. SPACING: the two views at the borders share a gap of any width. CAPPED, EVEN: gaps are not
 * distributed, the caller makes the weights. */
qb_status qb__turn_create(size_t views, const double *radians, double period, qb_angle_weights rule, qb__turn *turn);
void qb__turn_destroy(qb__turn *turn); /* NULL-safe */

/* Weights of the views by a rule: weights[views] in radians. `capped`: share of the turn that the cap or open gaps
 * remove, 0..1; may be NULL. QB_NO_MEMORY. */
qb_status qb__turn_weigh(const qb__turn *turn, qb_angle_weights rule, double *weights, double *capped);
/* The share of a ray, so that the shares of the ray and its opposite sum to 1, if views are missing. Shares follow the
 * trust: a missing ray is replaced by its opposite if that was measured, else both share. The opposite of a ray at
 * angle t is at t + opposite, radians. `place`: 0 if both sides of the detector are equally wide; else (`sided`) the
 * ray's position in the overlap that both sides see, from -1 at the end of the narrow side to above 1 on the wide side.
 * The mean over the angles that the view stands for. */
double qb__turn_share(const qb__turn *turn, size_t view, double opposite, bool sided, double place);
/* The widest gap; NULL = none. */
const qb__turn_gap *qb__turn_widest(const qb__turn *turn);
/* Radians of a gap without the ordinary step. */
double qb__turn_missing(const qb__turn_gap *gap);
bool qb__turn_is_open(const qb__turn *turn); /* true if a gap is left open */
/* Widest range of a gap whose opposite rays are missing too. For parallel rays of a half turn that is the whole gap. */
double qb__turn_gap_hole(const qb__turn *turn, size_t gap);
/* The largest range of missing angles whose opposites are missing too, and the sum of all such ranges. */
void qb__turn_hole(const qb__turn *turn, double opposite, double *largest, double *from, double *all);
