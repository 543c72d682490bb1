/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

#include "quickbeam/geometry.h"

/* Detector roll of a parallel beam. The unrolled detector has as many rows and columns as the real one, which may be
 * rotated in its plane, shifted or tilted; its rows are perpendicular to the axis. Rays are parallel, so each of its
 * pixels corresponds to a point of the real detector:
 *     column' = m[0] column + m[1] row + m[2],  row' = m[3] column + m[4] row + m[5]. */
typedef struct qb__roll {
    size_t columns, rows;
    size_t maps;      /* 0: the real detector has no roll; 1: one map for all views; else one per view */
    double (*map)[6]; /* [maps], owned */
    double turn;      /* cosine of the angle by which the detector is rotated about its centre */
} qb__roll;

/* For a detector rotated by `radians` in its plane about its centre, right-handed about the rays. QB_NO_MEMORY. */
qb_status qb__roll_turned(double radians, size_t columns, size_t rows, qb__roll *roll);
/* Column of the axis in the unrolled detector, if it crosses the middle row of the real one at `column`; and the
 * inverse. */
double qb__roll_column(const qb__roll *roll, double column);
double qb__roll_back(const qb__roll *roll, double column);

/* For any parallel beam whose rays are perpendicular to the axis, to half a pixel over `reach` mm. The axis of each
 * view is at the unrolled column axis[view], where the real rows would have it; z = 0 is at row *zero, a whole number
 * of rows from the middle; pixels are *pitch mm. maps = 0 if no map is needed to a hundredth of a pixel. QB_UNSUPPORTED
 * with the view and the number if rays are inclined (laminography) or parallel to the detector; QB_BAD_ARGUMENT for a
 * cone; QB_NO_MEMORY. */
qb_status qb__roll_of(const qb_geometry *real, double reach, double *axis, double *zero, double *pitch, qb__roll *roll);
void qb__roll_clear(qb__roll *roll); /* NULL-safe inside; leaves it empty */

/* Positions of the pixels of an unrolled row on the real detector: column[], row[] of roll->columns. */
void qb__roll_line(const qb__roll *roll, size_t view, size_t at, double *column, double *row);
/* The real rows, of any view, that unrolled rows row0 <= row < row1 need, with `margin` more on both sides, limited to
 * the detector: first <= row < end; first = end if there are none. */
void qb__roll_rows(const qb__roll *roll, size_t row0, size_t row1, size_t margin, size_t *first, size_t *end);
/* Largest number of real rows that `count` unrolled rows need. */
size_t qb__roll_most(const qb__roll *roll, size_t count, size_t margin);
/* True if all pixels of an unrolled row are measured in all views. */
bool qb__roll_whole(const qb__roll *roll, size_t row);

/* Extent of a flat detector that is rotated in its plane: across (horizontal, perpendicular to the axis) and along the
 * axis. Measured through its centre, as means over the views. */
typedef struct qb__panel {
    double turn;                      /* degrees of rotation, 0 to 90: at 90 the columns run along the axis */
    double across, along;             /* pixels */
    double pitch_across, pitch_along; /* mm per pixel */
} qb__panel;

qb__panel qb__panel_of(const qb_geometry *geometry);

/* True if the rows of a flat detector deviate by more than a pixel from horizontal over its width, so that its columns
 * alone do not limit the field of view. */
bool qb__panel_is_turned(const qb_geometry *geometry);

/* The range of z that all views see on the whole circle of `radius` mm about the axis; false if there is none.
 * `either`: full turn with an offset detector, where one of two opposite rays is enough. */
bool qb__panel_heights(const qb_geometry *geometry, double radius, bool either, double *low, double *high);
/* The largest radius for which all views see some z; 0 if they do not see the axis. */
double qb__panel_radius(const qb_geometry *geometry, bool either);

/* Pixels (column, row) at the two ends of the horizontal line through the centre of a view's detector. */
void qb__panel_level_line(const qb_geometry *geometry, size_t view, double first[2], double last[2]);
