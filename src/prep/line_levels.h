/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "quickbeam/scan.h"

enum { QB__LEVELS_SPIKES = 4 };

/* Single bright pixels of a row: zingers or hot columns. */
typedef struct qb__spikes {
    uint32_t count;                     /* their number */
    uint32_t column[QB__LEVELS_SPIKES]; /* the first of their columns */
} qb__spikes;

/* Levels of a prepared detector row that tell whether the scan's quantity is right. They are medians of blocks of
 * columns, which single pixels do not change. */
typedef struct qb__line_levels {
    double low, high, noise;     /* lowest and highest median of a block, and the standard error of such a median */
    double sum, size;            /* sum of the measured values, and of their absolute values */
    uint32_t measured, negative; /* their number, and the number of negative ones */
    uint32_t values, beyond;     /* all; and values that neither a beam nor an object can cause */
    qb__spikes spikes[2];        /* single pixels; pairs of neighbours */
    uint32_t view, row, at;      /* the stored view, the row, and the view in the scan's counting */
    uint32_t below;              /* counts far below their dark */
    float top,
        next; /* the largest of its counts below the type's maximum, or of other values; the next smaller count */
    uint32_t at_top, at_next; /* number of counts equal to top, and to next */
    uint32_t off;             /* number of counts at the top where the flat is close to the top, but not equal */
    uint32_t gaps;            /* number of places where one or two other counts lie between two equal to top */
    uint32_t curved_pairs,
        /* pairs of second differences below the top, and those of opposite sign, which is most of them for noise */
        turns;
    bool whole; /* all are whole numbers */
    bool looked;
} qb__line_levels;

/* line[columns]: NaN where nothing was measured. beyond: number of impossible values. scratch[columns]. */
void qb__line_levels_of(const float *line, size_t columns, qb_quantity quantity, float *scratch, qb__line_levels *out);

/* The same row's counts from the detector: checks for clipping. flat: NULL: none. most: the type's maximum. */
void qb__line_levels_cut(const float *counts, const float *flat, size_t columns, float most, qb__line_levels *out);
/* Number of counts far below the dark, whose single frame has that noise (0: unknown). line: NaN where nothing was
 * measured. */
void qb__line_levels_below(const float *counts, const float *dark, const float *line, size_t columns, float noise,
                           qb__line_levels *out);
/* True if this column of single spikes (kind 0) or pairs (1) stands out in so many of a group's views that it is a
 * fault of the detector. */
bool qb__line_levels_is_column(const qb__line_levels *group, size_t each, int kind, uint32_t column);
/* Number of stored columns of spikes. */
static inline uint32_t qb__spikes_kept(const qb__spikes *spikes) {
    return spikes->count < QB__LEVELS_SPIKES ? spikes->count : QB__LEVELS_SPIKES;
}

/* Result of all lines. */
typedef struct qb__levels_found {
    double beyond;      /* share of the values that neither a beam nor an object can cause */
    double bright;      /* share of the rows that are brighter than open beam, beyond noise */
    double level;       /* their transmission */
    bool air;           /* the ends of these rows are brighter, too */
    double counts;      /* not 0: line integrals look like counts of this size */
    bool lines_called;  /* transmissions look like line integrals: rows end at 0 */
    double counts_end;  /* count at the darker end of their rows */
    double grey;        /* not 0: line integrals are whole numbers up to this one, near 0 at the ends, as in pictures */
    bool transmissions; /* line integrals look like transmissions */
    double negative, mean; /* not 0: most lines are negative; share of their negative values, and their mean */
    double top;            /* median of the lines' maxima */
    double clip, clipped;  /* value at which counts are clipped; share of clipped counts; 0: none */
    /* number of rows; of rows with single bright pixels that are not columns; of these pixels */
    size_t lines, spiked, spikes;
    uint32_t view, row, column;   /* place of the first spike */
    size_t hot;                   /* columns of these rows that stand out in most views */
    uint32_t hot_row, hot_column; /* place of the first hot column */
    double brightest;             /* the largest count below the type's maximum */
    double below;                 /* share of the counts far below their dark */
    uint32_t odd_view, odd_row;   /* place of the first row with impossible values */
} qb__levels_found;

/* Judges lines[groups][each]. end[i][2]: the levels of the lines' ends, NaN if there is none. */
void qb__line_levels_judge(const qb__line_levels *lines, const double (*end)[2], size_t groups, size_t each,
                           qb_quantity quantity, qb__levels_found *found);
