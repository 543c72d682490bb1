/* SPDX-License-Identifier: MIT */
#include "prep/courses.h"

#include <stdbool.h>

#include "base/memory.h"
#include "kernels/filter/filter_device.h"

size_t qb__courses_room(size_t columns) { return qb__larger(QB__DEVICE_COURSES, columns / QB__DEVICE_COURSE_COLUMNS); }

/* The sum of a column's entries, in the order of the table. */
static float stripe_of(const qb__course *of_row, size_t room, float column, float v) {
    float sum = 0;
    for (const qb__course *c = of_row; c < of_row + room && c->column >= 0; c++) {
        if (c->column != column || v < c->first || v >= c->end) continue;
        const float more = c->slope * (v - c->first);
        sum += c->start + more;
    }
    return sum;
}

void qb__courses_subtract(const qb__course *of_row, size_t room, size_t view, size_t first, size_t count, float *out) {
    for (size_t i = 0; i < room && of_row[i].column >= 0; i++) {
        const size_t column = (size_t)of_row[i].column;
        bool again = false; /* an earlier entry was for the same column */
        for (size_t k = 0; k < i; k++) again = again || of_row[k].column == of_row[i].column;
        if (again || column < first || column - first >= count) continue;
        out[column - first] -= stripe_of(of_row, room, of_row[i].column, (float)view);
    }
}
