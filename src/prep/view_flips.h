/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>

#include "base/status.h"

/* Checks whether every second view is mirrored left to right. Then a view is similar to the mirror image of the next
 * one, and not to the next one itself. */
typedef struct qb__view_flips {
    size_t rows, bins, views; /* views: number added */
    float *last;              /* [rows][bins] of the previous one */
    float *mirror;            /* [bins] scratch */
    double next, flipped;     /* sums of squares of differences to the next view, and to its mirror image */
    double gain[2];           /* the first minus the second, per view: sum, sum of squares */
} qb__view_flips;

qb_status qb__view_flips_create(size_t rows, size_t bins, qb__view_flips *flips);
void qb__view_flips_clear(qb__view_flips *flips);
/* Add the next view by its angle, line[rows][bins]. */
void qb__view_flips_add(qb__view_flips *flips, const float *line);
/* Ratio by which views differ less from the mirror images of the next ones; 0: they are not mirrored. noise: rms of the
 * noise of a difference of two bins. */
double qb__view_flips_judge(const qb__view_flips *flips, double noise);
