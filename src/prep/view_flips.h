/* SPDX-License-Identifier: MIT */
#ifndef QB_PREP_VIEW_FLIPS_H
#define QB_PREP_VIEW_FLIPS_H

#include <stddef.h>

#include "base/status.h"

/* Is every second view mirrored left to right? Then a view is like the mirror image of the next one, and unlike that one itself. */
typedef struct qb__view_flips {
    size_t rows, bins, views; /* views: that were added */
    float *last;              /* [rows][bins] of the one before */
    float *mirror;            /* [bins] scratch */
    double next, flipped;     /* sums of squares of differences to the next view, and to its mirror image */
    double gain[2];           /* of the first less the second, of a view: sum, sum of squares */
} qb__view_flips;

qb_status qb__view_flips_create(size_t rows, size_t bins, qb__view_flips *flips);
void qb__view_flips_clear(qb__view_flips *flips);
/* The next view by its angle, line[rows][bins]. */
void qb__view_flips_add(qb__view_flips *flips, const float *line);
/* How many times less views differ from the mirror images of the next ones; 0: they are not mirrored. noise: of the difference between two
 * bins of two views, rms. */
double qb__view_flips_judge(const qb__view_flips *flips, double noise);

#endif
