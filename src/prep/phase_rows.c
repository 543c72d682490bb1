/* SPDX-License-Identifier: MIT */
/* Comparisons are made on the bits, as integers: the compiler makes vectors of those alone. */
#include "prep/phase_rows.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "quickbeam/io.h"

enum { NOT_A_NUMBER = 0x7fc00000 };

static inline int32_t bits_of(float x) {
    int32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline float float_of(int32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

size_t qb__phase_transmissions(const qb__phase_row *row, const void *raw, float *restrict out) {
    const size_t columns = row->columns;
    const float *restrict dark = row->dark, *restrict gain = row->gain;
    const int32_t top = bits_of(row->top), most = bits_of(row->most);
    int32_t lost = 0;
    qb_convert_to_float(raw, row->dtype, columns, out);
    for (size_t c = 0; c < columns; c++)
        out[c] = float_of(bits_of(out[c]) | (-(bits_of(out[c]) >= top) & NOT_A_NUMBER));
    for (size_t c = 0; dark && c < columns; c++) out[c] -= dark[c];
    for (size_t c = 0; gain && c < columns; c++)
        out[c] = float_of(bits_of(out[c] * gain[c]) | (-(bits_of(gain[c]) <= 0) & NOT_A_NUMBER));
    for (size_t c = 0; row->change && c < columns; c++) out[c] /= row->change[c];
    for (size_t c = 0; row->stuck && c < columns; c++)
        if (row->stuck[c]) out[c] = NAN;
    for (size_t c = 0; c < columns; c++) {
        const int32_t bits = bits_of(out[c]), wrong = (bits & INT32_MAX) >= most;
        out[c] = float_of(bits | (-wrong & NOT_A_NUMBER));
        lost += wrong;
    }
    return (size_t)lost;
}

/* Columns first < c < end, between two that have a value or at an end of the row. */
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
    const size_t columns = row->columns;
    const float *dark = row->dark, *flat = row->flat;
    const size_t lost = qb__phase_transmissions(row, raw, scratch);
    for (size_t c = 0; c < columns; c++) out[c] = line[c];
    for (size_t c = 0; row->change && c < columns; c++) out[c] *= row->change[c];
    for (size_t c = 0; flat && c < columns; c++) out[c] *= dark ? flat[c] - dark[c] : flat[c];
    for (size_t c = 0; dark && c < columns; c++) out[c] += dark[c];
    for (size_t c = 0; lost && c < columns; c++)
        if (isnan(scratch[c])) out[c] = NAN;
}
