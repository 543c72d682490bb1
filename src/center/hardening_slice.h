/* SPDX-License-Identifier: MIT */
#pragma once

#include "center/center.h"

/* One detector row of parallel rays over half a turn or more, reduced to at most 256 columns. */
typedef struct qb__hardening_row {
    size_t views, columns;
    double axis;          /* column of the axis */
    const double *angles; /* [views] radians */
    double *lines;        /* [view][column] line integrals, in any unit */
    double *lengths;      /* [view][column] length of the path in the object, in columns; 0 outside the object */
} qb__hardening_row;

/* Sets lengths: reconstructs a slice from `lines`, takes values above its threshold (Otsu, 1979) as the object, and
 * projects the object. */
qb_status qb__hardening_lengths(qb__hardening_row *row, qb__pool *pool);
