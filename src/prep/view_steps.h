/* SPDX-License-Identifier: MIT */
#ifndef QB_PREP_VIEW_STEPS_H
#define QB_PREP_VIEW_STEPS_H

#include <stdbool.h>

#include "prep/prepare.h"

/* An object that turns evenly changes little from one view to the next. A single step that is many times larger than those before and
 * after it means that the object moved, or that views are missing there or were exchanged. */
typedef struct qb__view_steps {
    size_t jumps;  /* how many such steps there are; 0: none, or nothing can be said */
    size_t view;   /* the first of them leads from this view to the next one */
    double larger; /* how many times larger it is */
    double unlike; /* neighbouring views differ so many times as much as distant ones; 0: less */
    double apart;  /* they differ so many times as much as those that were measured one after the other; 0: less */
    double
        flipped; /* every view is so many times more like the mirror image of the next one than like that; 0: it is not */
    size_t held;    /* from this view to the next the stated angle jumps, but the image does not */
    double turn[2]; /* radians before and behind; equal: there is no such jump */
    double closes;  /* of the last and the first view, as from qb__view_closing_judge */
    double gap;     /* radians between these two, as stated */
} qb__view_steps;

/* Of rows row0 <= row < row1, which are prepared; radians[views] as stated, `circle`: a turn leads back to where it began. Reads
 * three rows of all views, if that is a small part of the scan. */
qb_status qb__view_steps_find(qb_scan *scan, const qb__prepare *prepare, const double *radians, bool circle,
                              size_t row0, size_t row1, qb__view_steps *found);
/* Whether the angles belong to other views. */
bool qb__view_steps_misfit(const qb__view_steps *found);
void qb__view_steps_warn(const qb__view_steps *found, const qb_env *env);

#endif
