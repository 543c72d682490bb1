/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

#include "prep/prepare.h"

/* An object that turns evenly changes little from one view to the next. A single step that is many times larger than
 * those before and after it means that the object moved, or that views are missing or were exchanged there. */
typedef struct qb__view_steps {
    size_t jumps;  /* number of such steps; 0: none, or unknown */
    size_t view;   /* the first of them leads from this view to the next one */
    double larger; /* ratio by which it is larger */
    double unlike; /* ratio of the differences of neighbouring and of distant views; 0: small */
    double apart;  /* the same ratio for consecutively measured views; 0: small */
    /* ratio by which every view is more similar to the mirror image of the next one than to that one; 0: it is not */
    double flipped;
    size_t held;    /* the view after which the stated angle jumps although the image does not change */
    double turn[2]; /* radians before and after; equal: no such jump */
    double closes;  /* whether the last view continues to the first one, see qb__view_closing_judge */
    double gap;     /* radians between these two, as stated */
} qb__view_steps;

/* For rows row0 <= row < row1, which are prepared; radians[views] as stated; `circle`: the turn is closed. Reads three
 * rows of all views, if that is a small part of the scan. */
qb_status qb__view_steps_find(qb_scan *scan, const qb__prepare *prepare, const double *radians, bool circle,
                              size_t row0, size_t row1, qb__view_steps *found);
/* True if the angles belong to other views. */
bool qb__view_steps_misfit(const qb__view_steps *found);
void qb__view_steps_warn(const qb__view_steps *found, const qb_env *env);
