/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "prep/prepare.h"
#include "quickbeam/status.h"

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
