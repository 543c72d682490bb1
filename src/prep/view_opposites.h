/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

#include "prep/prepare.h"

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
