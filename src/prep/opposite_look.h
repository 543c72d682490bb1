/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

#include "prep/prepare.h"

/* Amount of data. */
enum {
    QB__OPPOSITE_BINS = 96,
    QB__OPPOSITE_PLACES = 5,
    QB__OPPOSITE_LEVELS = 3, /* rows at a position: below, at it, above */
    QB__OPPOSITE_PAIRS = 24,
    QB__OPPOSITE_VIEWS = 8 * QB__OPPOSITE_PAIRS,
    QB__OPPOSITE_PARTS = 4, /* parts of a row, whose errors are independent */
    QB__OPPOSITE_UNKNOWN = 3
};
enum { QB__OPPOSITE_SHIFT, QB__OPPOSITE_TURN, QB__OPPOSITE_LEAN };

typedef struct qb__direction_at {
    double angle; /* within a turn */
    size_t view;
} qb__direction_at;

/* Two views nearly half a turn apart: [0] comes first. */
typedef struct qb__opposite_pair {
    /* indices of the stored views; the views for measuring the change with the angle */
    size_t view[2], low[2], high[2];
    size_t next, far; /* other views to compare view[0] with: a neighbour, and a view a quarter turn away */
    double lever[2];  /* radians from low to high */
    double off;       /* radians from the opposite of view[0] to view[1], as stated */
} qb__opposite_pair;

/* Normal equations of the differences of opposite views. */
typedef struct qb__opposite_sums {
    double a[QB__OPPOSITE_UNKNOWN][QB__OPPOSITE_UNKNOWN], y[QB__OPPOSITE_UNKNOWN],
        rest; /* sums of the products; of the differences' squares */
} qb__opposite_sums;

typedef struct qb__opposite_look {
    qb_scan *scan;
    const qb_scan_info *info;
    qb__prep steps;
    size_t first; /* row of the preparation's fields */
    const double *radians;
    qb__direction_at *order;
    size_t bin, bins;
    size_t row[QB__OPPOSITE_PLACES * QB__OPPOSITE_LEVELS], rows, places, levels; /* levels: 1, or those of a position */
    size_t view[QB__OPPOSITE_VIEWS], views;
    qb__opposite_pair pairs[QB__OPPOSITE_PAIRS];
    size_t count;
    double step;  /* median */
    bool around;  /* pairs cover half a turn; otherwise the angle between them is too uncertain to be fitted */
    float *lines; /* [slot][row][bin] */
    float *line;
    char *raw;
    qb__opposite_sums *part; /* [pair][place][QB__OPPOSITE_PARTS] */
    double next, far, cross;
} qb__opposite_look;

typedef struct qb__opposite_fit {
    double x[QB__OPPOSITE_UNKNOWN], error[QB__OPPOSITE_UNKNOWN]; /* bins, radians, radians */
    /* Sums of squares. */
    double before; /* sum over the differences between opposite views */
    double after;  /* sum over the residuals after the fit */
    double next;   /* sum over the differences to the neighbours qb__opposite_pair.next */
    double far;    /* sum over the differences to the views qb__opposite_pair.far */
    /* sum over the differences to the mirrored views `far`; faulty columns, which do not move, have the same effect on
     * these as on differences of opposite views */
    double cross;
} qb__opposite_fit;

/* Choose the views to be compared; radians and step of l are set. */
qb_status qb__opposite_pairs(qb__opposite_look *l, size_t most);

/* Assume the axis at `column`, in bins; overwrites l->part. */
qb__opposite_fit qb__opposite_fit_at(qb__opposite_look *l, double column);
/* The fit to pairs first <= i < end only. Call qb__opposite_fit_at before. */
qb__opposite_fit qb__opposite_fit_pairs(const qb__opposite_look *l, size_t first, size_t end);
/* Angle in radians by which the views of one pair are farther apart than stated, from this pair alone. Call
 * qb__opposite_fit_at before. */
double qb__opposite_turn_of(const qb__opposite_look *l, size_t pair);
/* Repeat the fit until the column does not change. */
qb__opposite_fit qb__opposite_settle(qb__opposite_look *l, double *column);
/* The column, in bins, about which opposite views agree best; the share `edge` of the columns at either end is not
 * searched. */
double qb__opposite_search(const qb__opposite_look *l, double edge);
