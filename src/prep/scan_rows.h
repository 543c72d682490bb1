/* SPDX-License-Identifier: MIT */
#pragma once

#include "io/scan/scan.h"
#include "prep/phase_rows.h"

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
