/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>

/* Stripes whose height changes over the views: --rings found them, and they are subtracted from line integrals. A part
 * of one is a row of a table: in views first <= v < end, `start + slope (v - first)` is subtracted in its column. */
typedef struct qb__course {
    float column, first, end, start, slope; /* whole numbers below 2^24; column < 0: no entry, and none after it */
} qb__course;

enum { QB__COURSE_NUMBERS = sizeof(qb__course) / sizeof(float) };

/* Number of entries in the table of a detector row. */
size_t qb__courses_room(size_t columns);
/* Subtracts the courses of a detector row from columns first <= c < first + count of a view: out[c - first]. The bits
 * are those of prepare_rows.clh. */
void qb__courses_subtract(const qb__course *of_row, size_t room, size_t view, size_t first, size_t count, float *out);
