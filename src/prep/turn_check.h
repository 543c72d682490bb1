/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/json.h"
#include "prep/line_mass.h"
#include "quickbeam/geometry.h"

/* A check of whether the views turn as their angles state. For an object that turns, the centre of mass of a detector
 * row moves as a sine of the angle, and the variance about it as a sine of twice the angle: exactly for parallel rays,
 * nearly so near the middle row of a cone. Rows that do not see all of the object are not used. */
typedef struct qb__turn_asked {
    const double *radians;       /* [views] stated angles; NULL: those of the geometry */
    const qb_geometry *geometry; /* NULL: parallel, or a cone of unknown distances */
    bool file; /* the angles are those of a geometry file, other than the one from which `geometry` was read */
    bool cone; /* used without a geometry: rays are not parallel */
} qb__turn_asked;

/* Checks lines[QB__SAMPLE_LINES]: warns if the stated angles cannot be right, and adds "angle_span" to the report (may
 * be NULL). *told (may be NULL): true if it warned. */
qb_status qb__turn_check(const qb__line_mass *lines, const qb__turn_asked *asked, size_t views, const qb_env *env,
                         cJSON *report, bool *told);

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
