/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

#include "prep/prepare.h"

/* N views over 180 degrees are 180 / N degrees apart if the end point is left out, and 180 / (N - 1) if it is included.
 * The views show which: with the end point the last view equals the first one (mirrored after half a turn), without it
 * they are one step apart. */
typedef struct qb__view_ends_of {
    const double *radians; /* [views] as stated */
    bool parallel;         /* rays are parallel; else only whole turns are checked */
    double column;         /* column of the axis; NAN: unknown */
    size_t row0, row1;     /* prepared rows */
} qb__view_ends_of;

typedef struct qb__view_ends {
    int steps;       /* -1: the last view is the first one, but stated a step before it; 1: the reverse; 0: neither */
    bool mirrored;   /* after half a turn */
    double stated;   /* steps from the last view to the first one */
    double from, to; /* degrees: the angles that fit, without the end */
} qb__view_ends;

/* Reads at most 24 rows of the first 16 and of the last 16 views. */
qb_status qb__view_ends_find(qb_scan *scan, const qb__prepare *prepare, const qb__view_ends_of *asked,
                             qb__view_ends *found);
void qb__view_ends_warn(const qb__view_ends *found, const qb_env *env);

/* Parallel rays see the same lines of the object from both sides: a view is the mirror image, about the axis, of the
 * view half a turn away. Differences of opposite views show the position and the lean of the axis, and errors of the
 * angles between them. */
typedef struct qb__opposites_asked {
    const double *radians; /* [views] as stated */
    double column;         /* column of the axis; NAN: unknown */
    size_t row0, row1;     /* prepared rows */
    size_t room;           /* bytes of memory */
} qb__opposites_asked;

/* Each is 0, or NAN for `column`, if nothing is wrong or nothing is known. */
typedef struct qb__opposites {
    double unlike; /* difference of opposite views relative to that of views a quarter turn apart */
    double turn;   /* radians by which the angle between opposite views differs from the stated one */
    double step;   /* radians between neighbouring views, the median */
    double column; /* column of the axis if it differs from the stated one */
    double lean;   /* degrees by which the axis leans in the image */
    size_t row[2]; /* two distant rows */
    double at[2];  /* columns of the axis in these rows */
} qb__opposites;

/* For parallel rays. Reads a few rows of at most some 150 views. */
qb_status qb__opposites_find(qb_scan *scan, const qb__prepare *prepare, const qb__opposites_asked *asked,
                             qb__opposites *found);
/* `told`: a warning about the angles was given before, so they are not warned of again. */
void qb__opposites_warn(const qb__opposites *found, bool told, const qb_env *env);
