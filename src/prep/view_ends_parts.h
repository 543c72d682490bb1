/* SPDX-License-Identifier: MIT */
#ifndef QB_PREP_VIEW_ENDS_PARTS_H
#define QB_PREP_VIEW_ENDS_PARTS_H

#include <stdbool.h>

#include "io/scan/scan.h"
#include "prep/prepare.h"

/* Of view_ends*.c alone. */

/* Views of either end, rows, ... */
enum { QB__ENDS_NEAR = 16, QB__ENDS_ALL = 2 * QB__ENDS_NEAR, QB__ENDS_ROWS = 24, QB__ENDS_PARTS = 8 /* of a row */ };
enum { QB__ENDS_SCRATCH = 7 };

typedef struct qb__ends_look {
    qb_scan *scan;
    const qb_scan_info *info;
    qb__prep prep;
    size_t first; /* row of its fields */
    size_t near;  /* views of either end, at most QB__ENDS_NEAR */
    size_t rows, row[QB__ENDS_ROWS], bin, bins;
    double step;                   /* radians between neighbours, as stated */
    double column;                 /* of the axis, in bins */
    bool mirrored;                 /* the first views are compared as they look from behind */
    float *read;                   /* [2 near][rows][bins]: the first views, then the last ones, from the end on */
    float *line;                   /* [2 near][rows][bins] smoothed, about their means; the first ones mirrored */
    float *wide;                   /* [columns] scratch */
    float *slope;                  /* [rows][bins] by the column */
    float *part[QB__ENDS_SCRATCH]; /* [rows][bins] scratch */
    size_t from, to;               /* bins that both see */
    char *raw;
} qb__ends_look;

/* What the ends differ by: mean squares, and products of differences that share no view. */
typedef struct qb__ends_measure {
    double ends;    /* between the last view and the first one */
    double step[2]; /* between the first two; between the last two */
    double two;     /* between views two steps apart */
    double more;    /* between the last view and the second one, and between the first and the last but one */
    double forward; /* product of the ends' difference and the steps next but one to it */
    double usual;   /* the same of neighbouring steps */
    double sure;    /* `forward` over its error */
    double moved_ends,
        moved_step; /* bins along the row, without sign: from the last view to the first; between neighbours */
} qb__ends_measure;

/* The steps from the last view to the first one, by the slopes of some views on both sides. */
typedef struct qb__ends_gap {
    double steps, error; /* INFINITY: nothing is known */
} qb__ends_gap;

/* Lines as they are compared: smoothed so often, the first ones mirrored, about their means. */
void qb__ends_arrange(qb__ends_look *l, size_t times);
/* The axis at which the last view and the mirrored first one agree best: near where it is said to be, or anywhere. */
void qb__ends_find_axis(qb__ends_look *l, size_t times);
/* out less what a shift along the row makes of it. The shift, in bins. */
double qb__ends_without_shift(const qb__ends_look *l, float *out);

/* Of lines as they are arranged now. */
void qb__ends_take_measure(const qb__ends_look *l, qb__ends_measure *m);
/* Views two steps apart differ more than neighbours, by so much: 1 where it is all noise, 4 where all changes go on evenly. */
double qb__ends_evenness(const qb__ends_measure *m);
/* 1: the first view is a step behind the last one; -1: `gap` steps; 0: neither is shown. *leans: how far it leans to one step, which is
 * 1, or to `gap`, which is below 0; without certainty. NAN: not at all. */
int qb__ends_seam(qb__ends_look *l, double gap, double *leans);
/* count: views of each group, of which there are two on either side. */
qb__ends_gap qb__ends_take_gap(const qb__ends_look *l, size_t count);

#endif
