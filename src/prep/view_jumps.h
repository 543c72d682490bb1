/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>

#include "quickbeam/status.h"

/* Change from each view to the next, in parts of the rows and with several widths of smoothing. If frames are missing,
 * or the object moved, nearly all parts change more than nearby. An edge seen lengthwise changes only a few parts. */
enum { QB__JUMP_WIDTHS = 3, QB__JUMP_PARTS = 8 /* number of parts of a row */ };

typedef struct qb__view_jumps {
    size_t rows, bins, views;
    double *sum;                                          /* [bins + 1] scratch */
    float *line[QB__JUMP_WIDTHS], *last[QB__JUMP_WIDTHS]; /* [rows][bins] smoothed */
    float *square[QB__JUMP_WIDTHS];                       /* [views - 1][rows][QB__JUMP_PARTS] of steps */
} qb__view_jumps;

qb_status qb__view_jumps_begin(qb__view_jumps *j, size_t views, size_t rows, size_t bins);
/* Add the next view: line[rows][bins]. */
void qb__view_jumps_add(qb__view_jumps *j, size_t view, const float *line);
/* Ratio of the step from this view to the next one to those nearby; 0: not a jump. least: smallest rms of a step that
 * counts; noise: rms of a difference of pure noise. */
double qb__view_jumps_at(const qb__view_jumps *j, size_t view, double least, double noise);
void qb__view_jumps_end(qb__view_jumps *j);
