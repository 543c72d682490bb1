/* SPDX-License-Identifier: MIT */
#ifndef QB_CENTER_CENTER_LOOK_H
#define QB_CENTER_CENTER_LOOK_H

#include "center/center.h"
#include "prep/prepare.h"

/* A quick look for the axis: a few detector rows of some views, to find out whether the stated axis can be right. */
typedef struct qb__center_look {
    const double *radians;  /* [views] */
    double sod, sdd, pixel; /* of a fan or cone beam, in mm; sod 0: parallel rays */
    double middle;          /* of a cone: the row that is level with the source; NAN: all rows are */
    size_t row0, row1;      /* rows that are prepared */
    size_t room;            /* bytes that it may hold */
    /* of a cone: the detector is not upright, and opposite rays meet it a little above or below one another */
    bool leans;
    bool moves; /* or it stands elsewhere from view to view */
} qb__center_look;

/* What it shows: the axis, with a confidence of 0 where nothing can be said, as of too few or too costly rows; and
 * of a cone beam over a turn what opposite rays show. */
typedef struct qb__center_shown {
    qb__center_answer axis;
    qb__center_fan_shown fan;
} qb__center_shown;

qb_status qb__center_look_at(qb_scan *scan, const qb__prepare *prepare, const qb__center_look *asked, qb__pool *pool,
                             const qb_env *env, qb__center_shown *found);

#endif
