/* SPDX-License-Identifier: MIT */
#ifndef QB_PREP_TRUNCATION_LINE_ENDS_H
#define QB_PREP_TRUNCATION_LINE_ENDS_H

#include "prep/row_sample.h"
#include "prep/line_levels.h"
#include "prep/line_mass.h"
#include "prep/prepare.h"

/* What a few rows of a few views hold at their ends, where air should be: of an object wider than the detector something else. */
typedef struct qb__line_end {
    double end[2],
        noise[2]; /* at column 0 and at the last: the median of a few columns, and by how much it may be off */
    double top;   /* what few values of the line exceed */
    bool looked;  /* else there is none */
} qb__line_end;

/* Of one prepared line[columns], NaN where nothing was measured; sorted[columns] is scratch. mass->view and row stay. */
void qb__line_end_of(const float *line, size_t columns, float *sorted, qb__line_end *end, qb__line_mass *mass);

/* A few lines, their ends, what levels they hold and where their mass lies. Zeroed before it looks. */
typedef struct qb__lines_look {
    qb__line_end end[QB__SAMPLE_LINES];
    qb__line_levels levels[QB__SAMPLE_LINES];
    qb__line_mass mass[QB__SAMPLE_LINES];
    double most;     /* larger line integrals count as not measured */
    bool transposed; /* columns look like views, and views like columns */
} qb__lines_look;
/* prepare: NULL of counts without flats: they are below an open beam that nobody knows. */
qb_status qb__line_ends_look(qb_scan *scan, const qb__prepare *prepare, const qb__row_sample *where,
                             qb__lines_look *lines);

/* How many of those views that hold anything do not end in air, on either side, and what they have there, as a share of `top`. */
typedef struct qb__line_ends_cut {
    double share[2], level[2];
    size_t lines;
    bool much; /* too many rows and views to be a holder that crosses, or noise */
} qb__line_ends_cut;

/* Of lines[QB__SAMPLE_LINES] only ends that count, and none that are below `least`. */
void qb__line_ends_judge(const qb__line_end *lines, const bool count[2], double least, qb__line_ends_cut *cut);

/* An open beam that is 2 % off leaves 0.02 everywhere; units of given line integrals are whatever they are. */
static const double qb__least_object = 0.03;

/* Whether many of the lines that were looked at hold something, of an object whose lines reach `top`. */
bool qb__column_end_held(const qb__lines_look *lines, double top);
/* Where the object goes on: bit 0: above row 0, bit 1: below the last row. "at both ends" of both. */
const char *qb__column_ends_words(unsigned held);

#endif
