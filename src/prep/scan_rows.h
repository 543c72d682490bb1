/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

#include "io/scan/scan.h"

/* Rows of the detector on their way to the filter and back. Conversion of a number to a transmission: */
typedef struct qb__phase_row {
    qb_dtype dtype;
    size_t columns;
    const unsigned char *stuck; /* [columns] 1: the pixel has no value; NULL: all have */
    const float *dark, *gain,
        *flat;           /* of the row: (number - dark) * gain; NULL: 0, 1 and 1. gain is 0 where the flat is dead */
    const float *change; /* [columns] change of the flat in that view (io/scan/drift.h); NULL: 1 */
    float top, most;     /* numbers from `top` on and transmissions from `most` on have no value */
} qb__phase_row;

/* Convert a row to transmissions, out[columns]; NAN where a pixel has no value. Returns the number of those pixels. */
size_t qb__phase_transmissions(const qb__phase_row *row, const void *raw, float *out);
/* Fill pixels without a value by linear interpolation in the row. False: no pixel has one. */
bool qb__phase_fill(float *line, size_t columns);
/* Convert filtered transmissions back to numbers, NAN where `raw` has no value; raw NULL: all pixels have one.
 * scratch[columns] */
void qb__phase_numbers(const qb__phase_row *row, const void *raw, const float *line, float *scratch, float *out);

/* Conversion of rows of a scan's numbers to transmissions, and back. */
typedef struct qb__scan_rows {
    const qb_scan *scan;
    qb_dtype dtype; /* type of the data read */
    float *gain;    /* [row][column] 1 / (flat - dark), 0 where the flat is dead; NULL: 1 */
    float top;      /* counts are saturated from there on */
} qb__scan_rows;

qb_status qb__scan_rows_create(const qb_scan *scan, qb_dtype dtype, qb__scan_rows *rows);
void qb__scan_rows_clear(qb__scan_rows *rows);
/* For a view and row; change: buffer of a row, used until the row is done. */
qb__phase_row qb__scan_row(const qb__scan_rows *rows, size_t view, size_t row, float *change);
size_t qb__scan_rows_bytes(const qb__scan_rows *rows);
