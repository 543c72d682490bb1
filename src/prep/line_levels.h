/* SPDX-License-Identifier: MIT */
#ifndef QB_PREP_LINE_LEVELS_H
#define QB_PREP_LINE_LEVELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "quickbeam/scan.h"

enum { QB__LEVELS_SPIKES = 4 };

/* Bright pixels of a row that stand alone: zingers or hot columns. */
typedef struct qb__spikes {
    uint32_t count;                     /* how many there are */
    uint32_t column[QB__LEVELS_SPIKES]; /* columns of the first of them */
} qb__spikes;

/* What one prepared detector row holds, as far as it shows whether the scan's numbers are what they are said to be. Levels are medians
 * of blocks of columns, which single pixels do not move. */
typedef struct qb__line_levels {
    double low, high, noise;     /* of blocks: the lowest, the highest, and by how much one may be off */
    double sum, size;            /* of the values that were measured, and of their sizes */
    uint32_t measured, negative; /* how many there are, and how many of them are negative */
    uint32_t values, beyond;     /* all, and those that no beam and no object makes */
    qb__spikes spikes[2];        /* single ones; pairs side by side */
    uint32_t view, row, at;      /* the stored view, the row, and the view as the scan counts it */
    uint32_t below;              /* counts far below their dark */
    float top,
        next; /* the largest of its counts below the type's maximum, or of other values; the next smaller count */
    uint32_t at_top, at_next; /* how many counts equal top, and next */
    uint32_t off;             /* of those at the top, where the flat is near, but another one */
    uint32_t gaps;            /* how often one or two other counts lie between two that equal top */
    uint32_t curved_pairs,
        turns;  /* pairs of second differences below the top, and those of opposite sign: of noise most are */
    bool whole; /* all are whole numbers */
    bool looked;
} qb__line_levels;

/* line[columns]: NaN where nothing was measured. beyond: of them. scratch[columns]. */
void qb__line_levels_of(const float *line, size_t columns, qb_quantity quantity, float *scratch, qb__line_levels *out);

/* The same row's counts as the detector gave them: whether they are cut off. flat: NULL: none. most: the type's maximum. */
void qb__line_levels_cut(const float *counts, const float *flat, size_t columns, float most, qb__line_levels *out);
/* How many of these counts are far below the dark, of which a single frame has that much noise (0: it is not known). line: NaN where
 * nothing was measured. */
void qb__line_levels_below(const float *counts, const float *dark, const float *line, size_t columns, float noise,
                           qb__line_levels *out);
/* Whether this column, of single spikes (kind 0) or of pairs (1), stands out in so many of the views of a group that the detector is at fault there. */
bool qb__line_levels_is_column(const qb__line_levels *group, size_t each, int kind, uint32_t column);
/* How many of the columns of spikes are kept. */
static inline uint32_t qb__spikes_kept(const qb__spikes *spikes) {
    return spikes->count < QB__LEVELS_SPIKES ? spikes->count : QB__LEVELS_SPIKES;
}

/* What all lines say together. */
typedef struct qb__levels_found {
    double beyond;      /* share of the values that no beam and no object makes */
    double bright;      /* share of the rows that are brighter than open beam, beyond noise */
    double level;       /* transmission of these */
    bool air;           /* the ends of these rows are brighter, too */
    double counts;      /* not 0: line integrals look like counts of this size */
    bool lines_called;  /* transmissions look like line integrals: rows end at 0 */
    double counts_end;  /* that of the darker end of their rows */
    double grey;        /* not 0: line integrals are whole numbers up to this one, near 0 at the ends, as in pictures */
    bool transmissions; /* line integrals look like transmissions */
    double negative, mean;        /* not 0: most lines are negative; that share of their values, and their mean */
    double top;                   /* the middle of what lines reach */
    double clip, clipped;         /* counts are cut off at that value; the share of all that is; 0: none */
    size_t lines, spiked, spikes; /* rows looked at, those with single bright pixels, which are no columns, and these */
    uint32_t view, row, column;   /* of the first spike */
    size_t hot;                   /* columns of these rows that stand out in most views, ... */
    uint32_t hot_row, hot_column; /* ... and the first of them */
    double brightest;             /* the largest of the counts below the type's maximum */
    double below;                 /* share of the counts that are far below their dark */
    uint32_t odd_view, odd_row;   /* of the first row with something beyond */
} qb__levels_found;

/* Of lines[groups][each]; end[i][2]: the levels of their ends, NaN where there is none. */
void qb__line_levels_judge(const qb__line_levels *lines, const double (*end)[2], size_t groups, size_t each,
                           qb_quantity quantity, qb__levels_found *found);

#endif
