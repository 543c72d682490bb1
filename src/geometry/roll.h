/* SPDX-License-Identifier: MIT */
#ifndef QB_GEOMETRY_ROLL_H
#define QB_GEOMETRY_ROLL_H

#include "quickbeam/geometry.h"

/* Detector roll of a parallel beam. The level detector has as many rows and columns as the real one, which may be turned in its plane,
 * shifted or leaning; its rows are at right angles to the axis. Rays do not spread, so each of its pixels lies on the real detector:
 *     column' = m[0] column + m[1] row + m[2],  row' = m[3] column + m[4] row + m[5]. */
typedef struct qb__roll {
    size_t columns, rows;
    size_t maps;      /* 0: the real detector is level; 1: one map for all views; else one for each view */
    double (*map)[6]; /* [maps], owned */
    double turn;      /* cosine of the angle by which the detector is turned about its middle */
} qb__roll;

/* A detector turned by `radians` in its plane about its middle, right-handed about the rays. QB_NO_MEMORY. */
qb_status qb__roll_turned(double radians, size_t columns, size_t rows, qb__roll *roll);
/* Column of the axis in the level detector, if it crosses the middle row of the real one at `column`; and back. */
double qb__roll_column(const qb__roll *roll, double column);
double qb__roll_back(const qb__roll *roll, double column);

/* Of any parallel beam whose rays are at right angles to the axis, to half a pixel over `reach` mm. Each view's
 * axis is at the level column axis[view], where the real rows would have it; z = 0 is at row *zero, whole
 * rows from the middle; pixels are *pitch mm. maps = 0 where none is needed to a hundredth of a pixel. QB_UNSUPPORTED with the view and the
 * number where rays climb (laminography) or lie in the detector; QB_BAD_ARGUMENT for a cone; QB_NO_MEMORY. */
qb_status qb__roll_of(const qb_geometry *real, double reach, double *axis, double *zero, double *pitch, qb__roll *roll);
void qb__roll_clear(qb__roll *roll); /* NULL-safe inside; leaves it empty */

/* Positions of a level row's pixels on the real detector: column[], row[] of roll->columns. */
void qb__roll_line(const qb__roll *roll, size_t view, size_t at, double *column, double *row);
/* The real rows, of any view, on which level rows row0 <= row < row1 fall, `margin` more on both sides, clipped
 * to the detector: first <= row < end, first = end where there are none. */
void qb__roll_rows(const qb__roll *roll, size_t row0, size_t row1, size_t margin, size_t *first, size_t *end);
/* Most real rows that `count` level rows need. */
size_t qb__roll_most(const qb__roll *roll, size_t count, size_t margin);
/* Whether all pixels of a level row are measured in all views. */
bool qb__roll_whole(const qb__roll *roll, size_t row);

#endif
