/* SPDX-License-Identifier: MIT */
#ifndef QB_PREP_SCAN_ROWS_H
#define QB_PREP_SCAN_ROWS_H

#include "io/scan/scan.h"
#include "prep/phase_rows.h"

/* What turns rows of a scan's numbers into transmissions, and back. */
typedef struct qb__scan_rows {
    const qb_scan *scan;
    qb_dtype dtype; /* of what is read */
    float *gain;    /* [row][column] 1 / (flat - dark), 0 where the flat is dead; NULL: 1 */
    float top;      /* where numbers are counts: saturated from there on */
} qb__scan_rows;

qb_status qb__scan_rows_create(const qb_scan *scan, qb_dtype dtype, qb__scan_rows *rows);
void qb__scan_rows_clear(qb__scan_rows *rows);
/* Of a view and row; change: room for a row, kept until the row is done. */
qb__phase_row qb__scan_row(const qb__scan_rows *rows, size_t view, size_t row, float *change);
size_t qb__scan_rows_bytes(const qb__scan_rows *rows);

#endif
