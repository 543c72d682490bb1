/* SPDX-License-Identifier: MIT */
#pragma once

#include "quickbeam/env.h"

/* The last view of a turn is a neighbour of the first one. This checks whether the images agree with the angles in this
 * respect. */
typedef struct qb__view_closing {
    double gap, step;     /* radians as stated: from the last view to the first, and between neighbours */
    double across;        /* difference between the last and the first view */
    double most;          /* the largest difference between neighbours near both ends */
    double alike[2];      /* difference of views that are `gap` apart: at the beginning, at the end; 0: not measured */
    double sense;         /* correlation of these two changes: -1 if the last views repeat the first ones in reverse */
    double floor, signal; /* noise level; rms of the views */
} qb__view_closing;

/* 0: they agree, or unknown. Above 0: the last view should be next to the first, but differs from it this many times as
 * much as neighbours do. Below 0: the last view should be far away, but is as similar as a neighbour, by that factor
 * more than the angles say. */
double qb__view_closing_judge(const qb__view_closing *c);

void qb__view_closing_warn(double times, double gap, const qb_env *env);
