/* SPDX-License-Identifier: MIT */
#pragma once

#include "prep/line_mass.h"
#include "prep/prepare.h"

/* Only for view_ends*.c. */

/* Views of either end, rows, ... */
enum {
    QB__ENDS_NEAR = 16,
    QB__ENDS_ALL = 2 * QB__ENDS_NEAR,
    QB__ENDS_ROWS = 24,
    QB__ENDS_PARTS = 8 /* number of parts of a row */
};
enum { QB__ENDS_SCRATCH = 7 };

typedef struct qb__ends_look {
    qb_scan *scan;
    const qb_scan_info *info;
    qb__prep prep;
    size_t first; /* row of its fields */
    size_t near;  /* views of either end, at most QB__ENDS_NEAR */
    size_t rows, row[QB__ENDS_ROWS], bin, bins;
    double step;                   /* radians between neighbours, as stated */
    double column;                 /* column of the axis, in bins */
    bool mirrored;                 /* the first views are compared as mirror images */
    float *read;                   /* [2 near][rows][bins]: the first views, then the last ones, from the end on */
    float *line;                   /* [2 near][rows][bins] smoothed, minus their means; the first ones mirrored */
    float *wide;                   /* [columns] scratch */
    float *slope;                  /* [rows][bins] derivative by the column */
    float *part[QB__ENDS_SCRATCH]; /* [rows][bins] scratch */
    size_t from, to;               /* bins that both see */
    qb__view_lines lines;
} qb__ends_look;

/* Differences of the ends: mean squares, and products of differences without a common view. */
typedef struct qb__ends_measure {
    double ends;    /* difference between the last view and the first one */
    double step[2]; /* difference between the first two views; between the last two views */
    double two;     /* difference between views two steps apart */
    /* difference between the last view and the second one, and between the first and the last but one */
    double more;
    double forward; /* product of the ends' difference and the steps next but one to it */
    double usual;   /* `forward` for neighbouring steps */
    double sure;    /* `forward` divided by its error */
    double moved_ends,
        moved_step; /* bins along the row, without sign: from the last view to the first; between neighbours */
} qb__ends_measure;

/* The steps from the last view to the first one, from the slopes of some views on both sides. */
typedef struct qb__ends_gap {
    double steps, error; /* INFINITY: unknown */
} qb__ends_gap;

/* Prepares lines for comparison: smoothed `times` times, the first ones mirrored, minus their means. */
void qb__ends_arrange(qb__ends_look *l, size_t times);
/* The axis at which the last view and the mirrored first one agree best: near the stated one, or anywhere. */
void qb__ends_find_axis(qb__ends_look *l, size_t times);
/* out minus the effect of a shift along the row. Returns the shift, in bins. */
double qb__ends_without_shift(const qb__ends_look *l, float *out);

/* For lines as they are arranged now. */
void qb__ends_take_measure(const qb__ends_look *l, qb__ends_measure *m);
/* Ratio of the differences of views two steps apart and of neighbours: 1 for pure noise, 4 if all changes continue
 * evenly. */
double qb__ends_evenness(const qb__ends_measure *m);
/* 1: the first view is one step after the last one; -1: `gap` steps; 0: neither. *leans: tendency to one step (1) or to
 * `gap` (below 0), without certainty. NAN: none. */
int qb__ends_seam(qb__ends_look *l, double gap, double *leans);
/* count: views of each group; there are two groups on either side. */
qb__ends_gap qb__ends_take_gap(const qb__ends_look *l, size_t count);
