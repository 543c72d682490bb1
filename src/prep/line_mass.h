/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

#include "io/scan/scan.h"
#include "prep/row_sample.h"
#include "quickbeam/env.h"

/* Mass of a prepared detector row: the sum of its line integrals, their centre, and their variance and third moment
 * about it, in columns, columns squared and cubed. Positions count from the middle of the row. */
typedef struct qb__line_mass {
    double mass, middle, spread, skew;
    double noise; /* uncertainty of `middle` by noise, in columns */
    size_t view, row;
    bool looked;
    bool whole; /* both ends see air and nearly all was measured; otherwise the other fields are not used */
} qb__line_mass;

/* line[columns], NaN where nothing was measured; end and noise: levels of both ends (line_ends.h); top: level that few
 * values exceed. */
void qb__line_mass_of(const float *line, size_t columns, const double end[2], const double noise[2], double top,
                      qb__line_mass *mass);

/* Some rows of each view, for a check that goes from view to view. A file may pack several views into one block, and
 * every read unpacks whole blocks: the rows of all views of a block are read together and kept. */
typedef struct qb__view_lines {
    qb_scan *scan;
    const size_t *row; /* [rows] detector rows, which the caller keeps */
    size_t rows, line; /* number of rows; bytes of a row */
    size_t ahead;      /* views read together */
    size_t first, end; /* views in `raw` */
    char *raw;         /* [rows][ahead] rows as they are stored */
} qb__view_lines;

qb_status qb__view_lines_create(qb_scan *scan, const size_t *row, size_t rows, qb__view_lines *lines);
/* `raw`: row[r] of this view, valid until the next call. */
qb_status qb__view_lines_read(qb__view_lines *lines, size_t view, size_t r, const char **raw);
void qb__view_lines_destroy(qb__view_lines *lines);

/* Parallel rays: the sum of a row's line integrals is the mass of a slice, the same in every view, if both ends see
 * air. If it varies, numbers are not line integrals (gamma of a picture, beam hardening, scatter), or matter enters the
 * row from above or below. */

/* Evaluates lines[QB__SAMPLE_LINES]. Returns the rms variation of the sums from view to view, relative to their mean;
 * 0: too few rows show all of the object, or noise explains the variation. */
double qb__view_sums_swing(const qb__line_mass *lines, size_t columns);
void qb__view_sums_warn(double swing, const qb_env *env);

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
