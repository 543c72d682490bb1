/* SPDX-License-Identifier: MIT */
#pragma once

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
