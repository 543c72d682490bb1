/* SPDX-License-Identifier: MIT */
#ifndef QB_PREP_VIEW_JUMPS_H
#define QB_PREP_VIEW_JUMPS_H

#include <stdbool.h>
#include <stddef.h>

#include "quickbeam/status.h"

/* How much views change from one to the next, in parts of their rows and at several widths of smoothing. Where frames are missing, or the
 * object moved, nearly all parts change more than nearby. An edge that is seen along changes a few parts. */
enum { QB__JUMP_WIDTHS = 3, QB__JUMP_PARTS = 8 /* of a row */ };

typedef struct qb__view_jumps {
    size_t rows, bins, views;
    double *sum;                                          /* [bins + 1] scratch */
    float *line[QB__JUMP_WIDTHS], *last[QB__JUMP_WIDTHS]; /* [rows][bins] smoothed */
    float *square[QB__JUMP_WIDTHS];                       /* [views - 1][rows][QB__JUMP_PARTS] of steps */
} qb__view_jumps;

qb_status qb__view_jumps_begin(qb__view_jumps *j, size_t views, size_t rows, size_t bins);
/* The next view: line[rows][bins]. */
void qb__view_jumps_add(qb__view_jumps *j, size_t view, const float *line);
/* How many times larger the step from this view to the next one is than those nearby; 0: it is no jump. least: rms of a step that counts;
 * noise: rms of a difference that is all noise. */
double qb__view_jumps_at(const qb__view_jumps *j, size_t view, double least, double noise);
void qb__view_jumps_end(qb__view_jumps *j);

#endif
