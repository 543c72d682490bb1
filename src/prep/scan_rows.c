/* SPDX-License-Identifier: MIT */
#include "prep/scan_rows.h"

#include <math.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/status.h"
#include "io/scan/drift.h"
#include "prep/prep.h"

qb_status qb__scan_rows_create(const qb_scan *scan, qb_dtype dtype, qb__scan_rows *rows) {
    const size_t pixels = scan->info.rows * scan->info.columns;
    const bool counts = scan->info.quantity == QB_COUNTS;
    uint64_t dead;
    *rows = (qb__scan_rows){.scan = scan, .dtype = dtype, .top = counts ? qb__dtype_top(dtype) : INFINITY};
    if (!counts || !scan->flat) return QB_OK;
    const qb_status status = qb__alloc(pixels, sizeof *rows->gain, &rows->gain);
    if (status == QB_OK) qb__prep_gain(scan->flat, scan->dark, pixels, rows->gain, &dead);
    return status;
}

void qb__scan_rows_clear(qb__scan_rows *rows) {
    qb__free(rows->gain);
    rows->gain = NULL;
}

size_t qb__scan_rows_bytes(const qb__scan_rows *rows) {
    return rows->gain ? rows->scan->info.rows * rows->scan->info.columns * sizeof(float) : 0;
}

qb__phase_row qb__scan_row(const qb__scan_rows *rows, size_t view, size_t row, float *change) {
    const qb_scan *scan = rows->scan;
    const qb__drift *drift = rows->gain ? scan->drift : NULL;
    const size_t columns = scan->info.columns, at = row * columns;
    const bool bounded = rows->gain || scan->info.quantity == QB_TRANSMISSION;
    if (drift) qb__drift_changes(drift, view, at, columns, change);
    return (qb__phase_row){.dtype = rows->dtype,
                           .columns = columns,
                           .stuck = scan->blank ? scan->unmeasured + at : NULL,
                           .dark = scan->dark && scan->info.quantity == QB_COUNTS ? scan->dark + at : NULL,
                           .gain = rows->gain ? rows->gain + at : NULL,
                           .flat = rows->gain ? scan->flat + at : NULL,
                           .change = drift ? change : NULL,
                           .top = rows->top,
                           .most = bounded ? 1000 : 1e30f}; /* largest plausible value */
}
