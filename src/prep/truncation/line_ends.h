/* SPDX-License-Identifier: MIT */
#pragma once

#include "prep/row_sample.h"
#include "prep/line_levels.h"
#include "prep/line_mass.h"
#include "prep/prepare.h"

/* The ends of one detector row in one view. They are not air if the object is wider than the detector. */
typedef struct qb__line_end {
    /* value at column 0 and at the last column: the median of a few columns, and its standard error */
    double end[2], noise[2];
    double top;  /* level that few values of the line exceed */
    bool looked; /* the other fields are set */
} qb__line_end;

/* The ends and the mass of one prepared line[columns], NaN where not measured; sorted[columns] is scratch. Keeps
 * mass->view and row. */
void qb__line_end_of(const float *line, size_t columns, float *scratch, qb__line_end *end, qb__line_mass *mass);

/* Ends, levels and mass of a few lines. Zero it before qb__line_ends_look. */
typedef struct qb__lines_look {
    qb__line_end end[QB__SAMPLE_LINES];
    qb__line_levels levels[QB__SAMPLE_LINES];
    qb__line_mass mass[QB__SAMPLE_LINES];
    double most;     /* larger line integrals count as not measured */
    bool transposed; /* columns look like views, and views like columns */
} qb__lines_look;
/* Read and measure the lines. prepare: NULL for counts without flats, whose open beam is not known. */
qb_status qb__line_ends_look(qb_scan *scan, const qb__prepare *prepare, const qb__row_sample *where,
                             qb__lines_look *lines);

/* Share of the non-empty lines that do not end in air on either side, and their level there relative to `top`. */
typedef struct qb__line_ends_cut {
    double share[2], level[2];
    size_t lines;
    bool much; /* too many rows and views for a holder that crosses, or noise */
} qb__line_ends_cut;

/* Judge lines[QB__SAMPLE_LINES]: only ends that count, and none below `least`. */
void qb__line_ends_judge(const qb__line_end *lines, const bool count[2], double least, qb__line_ends_cut *cut);

/* Line integrals above this are an object: an open beam with an error of 2 % gives 0.02 everywhere. */
static const double qb__least_object = 0.03;

/* True if many of the lines are above air, for an object whose line integrals reach `top`. */
bool qb__column_end_held(const qb__lines_look *lines, double top);
/* Text for where the object continues. held: bit 0: above row 0, bit 1: below the last row. */
const char *qb__column_ends_words(unsigned held);
