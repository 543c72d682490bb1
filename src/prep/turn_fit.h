/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>

#include "prep/row_sample.h"

enum { QB__TURN_MOMENTS = 3 };

/* One detector row in a few views: its centre of mass, variance and third moment. */
typedef struct qb__turn_track {
    size_t views;
    double angle[QB__SAMPLE_VIEWS], mass[QB__SAMPLE_VIEWS];
    double moment[QB__TURN_MOMENTS][QB__SAMPLE_VIEWS]; /* columns to the power of 1, 2, 3; for a cone at the axis */
    double sod;                                        /* columns at the axis; 0: parallel */
    double floor[QB__TURN_MOMENTS];                    /* smallest residual for imperfect data */
} qb__turn_track;

/* The factor of the stated angles that fits best. */
typedef struct qb__turn_fit {
    double factor;        /* 1: none fits so much better */
    double better;        /* ratio by which it fits better than the stated angles */
    double moved, misfit; /* columns: rms movement of the centre of mass, and the residual of the stated angles */
    size_t rows;          /* rows that were used */
} qb__turn_fit;

/* Fits tracks[count], at most QB__SAMPLE_GROUPS. span: stated range in degrees; least: required ratio of the fits. Of
 * two factors with similar fits the one with the rounder range is taken. */
void qb__turn_fit_tracks(const qb__turn_track *tracks, size_t count, double span, double least, qb__turn_fit *fit);

double qb__turn_variance(const double *y, size_t n, double *mean);
