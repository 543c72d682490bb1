/* SPDX-License-Identifier: MIT */
#include "prep/scan_rows.h"

#include <math.h>

#include "cpu/features.h"
#include "cpu/rows/lines.h"
#include "quickbeam/io.h"

size_t qb__phase_transmissions(const qb__phase_row *row, const void *raw, float *out) {
    qb_convert_to_float(raw, row->dtype, row->columns, out);
    return qb__lines_choose(qb__cpu_features())
        ->transmissions(out, row->dark, row->gain, row->change, row->stuck, row->top, row->most, row->columns, out);
}

/* Columns first < c < end, between two with a value or at an end of the row. */
static void bridge(float *line, size_t columns, ptrdiff_t first, size_t end) {
    const float left = first >= 0 ? line[first] : line[end], right = end < columns ? line[end] : left;
    const float step = (right - left) / (float)((ptrdiff_t)end - first);
    for (ptrdiff_t c = first + 1; c < (ptrdiff_t)end; c++) line[c] = left + step * (float)(c - first);
}

bool qb__phase_fill(float *line, size_t columns) {
    ptrdiff_t last = -1; /* column with a value */
    for (size_t c = 0; c < columns; c++) {
        if (isnan(line[c])) continue;
        if ((ptrdiff_t)c > last + 1) bridge(line, columns, last, c);
        last = (ptrdiff_t)c;
    }
    if (last >= 0 && (size_t)last + 1 < columns) bridge(line, columns, last, columns);
    return last >= 0;
}

void qb__phase_numbers(const qb__phase_row *row, const void *raw, const float *line, float *scratch, float *out) {
    const size_t lost = raw ? qb__phase_transmissions(row, raw, scratch) : 0;
    qb__lines_choose(qb__cpu_features())->numbers(line, row->dark, row->flat, row->change, row->columns, out);
    for (size_t c = 0; lost && c < row->columns; c++)
        if (isnan(scratch[c])) out[c] = NAN;
}
