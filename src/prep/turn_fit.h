/* SPDX-License-Identifier: MIT */
#ifndef QB_PREP_TURN_FIT_H
#define QB_PREP_TURN_FIT_H

#include <stddef.h>

#include "prep/row_sample.h"

enum { QB__TURN_MOMENTS = 3 };

/* One detector row in a few views: where its mass is, its variance and its third moment. */
typedef struct qb__turn_track {
    size_t views;
    double angle[QB__SAMPLE_VIEWS], mass[QB__SAMPLE_VIEWS];
    double moment[QB__TURN_MOMENTS][QB__SAMPLE_VIEWS]; /* columns to the power of 1, 2, 3; of a cone at the axis */
    double sod;                                        /* columns at the axis; 0: parallel */
    double floor[QB__TURN_MOMENTS];                    /* what imperfect data may leave */
} qb__turn_track;

/* Which factor of the stated angles fits best. */
typedef struct qb__turn_fit {
    double factor;        /* 1: none fits so much better */
    double better;        /* how many times better it fits than the stated angles */
    double moved, misfit; /* columns: rms of how the centre of mass moves, and of what the stated angles leave of it */
    size_t rows;          /* that say something */
} qb__turn_fit;

/* Of tracks[count], at most QB__SAMPLE_GROUPS; span: stated, in degrees; least: how many times better a factor must fit. Of two factors
 * that fit alike the one is taken that gives the rounder span. */
void qb__turn_fit_tracks(const qb__turn_track *tracks, size_t count, double span, double least, qb__turn_fit *fit);

double qb__turn_variance(const double *y, size_t n, double *mean);

#endif
