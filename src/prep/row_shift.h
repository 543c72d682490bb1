/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "prep/prepare.h"

/* While an object turns, the mean of each detector row stays constant (parallel rays) or changes slowly (a cone beam).
 * If these means shift by some rows from one view to another, the object slipped along the axis. */
typedef struct qb__row_shift {
    double rows;         /* the movement; 0: none, or unknown */
    size_t before, from; /* views between which it moved */
    bool slowly;         /* it moved a little from each view to the next */
    int interlaced;      /* not 0: odd rows belong to another view than even ones, see qb__row_interlace_find */
    char order[96];      /* the axes of the data have another order, in words; "" if they do not */
} qb__row_shift;

/* Kinds of beams: parallel rays; a cone with a circular source path and an untilted detector; any other; one whose
 * images move along the axis. */
typedef enum qb__row_beam { QB__ROW_PARALLEL, QB__ROW_CIRCLE, QB__ROW_OTHER, QB__ROW_MOVES } qb__row_beam;

/* For rows row0 <= row < row1, which are prepared. Reads at most 48 views, if that is a small part of the scan, at most
 * `room` bytes at once. */
qb_status qb__row_shift_find(qb_scan *scan, const qb__prepare *prepare, size_t row0, size_t row1, qb__row_beam beam,
                             size_t room, qb__row_shift *found);
void qb__row_shift_warn(const qb__row_shift *found, const qb_env *env);

/* Cameras may write the even rows of one image and the odd rows of another. Then a row is alternately more similar to
 * the next row of the view before than to that of the view after, or the reverse. A tilted axis has the same effect on
 * all rows. Into *from: whether odd rows belong to views before (-1) or after (1) those of the even rows, if nearly all
 * positions agree; 0: neither, or unknown. For rows row0 <= row < row0 + rows, which are prepared; reads a few rows of
 * some 72 views. */
qb_status qb__row_interlace_find(qb_scan *scan, const qb__prepare *prepare, size_t row0, size_t rows, int *from);

/* Role of an axis of the data. */
typedef enum qb__axis { QB__AXIS_VIEW, QB__AXIS_ROW, QB__AXIS_COLUMN } qb__axis;

/* For parallel rays the sum over the columns of a row is the same in every view, unless the object is wider than the
 * detector. Returns whether values[n[0]][n[1]][n[2]], line integrals at evenly spaced positions of each axis,
 * contradict that as they are read, and fit it in another order, which goes to `axes`. *sure: no third order fits as
 * well. */
bool qb__axes_order_other(const float *values, const size_t n[3], qb__axis axes[3], bool *sure);
