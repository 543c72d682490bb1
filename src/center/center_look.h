/* SPDX-License-Identifier: MIT */
#pragma once

#include "center/center.h"
#include "prep/prepare.h"

/* Parameters of a quick search for the axis: a few detector rows of some views show whether the stated axis can be
 * right. */
typedef struct qb__center_look {
    const double *radians;  /* [views] */
    double sod, sdd, pixel; /* distances and column pitch of a fan or cone beam, in mm; sod 0: parallel rays */
    /* the row of a cone beam that is level with the source; NAN: all rows are level (fan beam) */
    double middle;
    size_t row0, row1; /* range of rows that are prepared */
    size_t room;       /* number of bytes that the search may hold */
    /* The detector of a cone beam is tilted, so that opposite rays meet it at slightly different heights. */
    bool leans;
    bool moves; /* the position of the detector changes from view to view */
} qb__center_look;

/* Result: the axis, and for a cone beam over a full turn the comparison of opposite rays. The confidence is 0 if there
 * is no answer, for example because there are too few rows or reading them costs too much. */
typedef struct qb__center_shown {
    qb__center_answer axis;
    qb__center_fan_shown fan;
} qb__center_shown;

qb_status qb__center_look_at(qb_scan *scan, const qb__prepare *prepare, const qb__center_look *asked, qb__pool *pool,
                             const qb_env *env, qb__center_shown *found);
