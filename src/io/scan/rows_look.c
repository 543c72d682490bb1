/* SPDX-License-Identifier: MIT */
/* Detects detector rows that no view has measured: dead in the flats, or always NaN or saturated. One view is checked;
 * rows without a value there are checked in all views. */
#include <math.h>
#include <string.h>

#include "base/array.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/status.h"
#include "base/warning.h"
#include "io/scan/frame_list.h"
#include "io/scan/scan.h"
#include "quickbeam/io.h"

enum { BLOCK = 256 << 10 /* bytes read at once, at least a row */ };

typedef struct rows_look {
    qb_scan *scan;
    bool *lost; /* [row] */
    char *raw;
    size_t room; /* rows that raw holds */
    float top;
} rows_look;

/* True if this row has any measured number. */
static bool has_value(const rows_look *l, size_t row, const char *raw) {
    enum { RUN = 256 };
    const qb_scan *scan = l->scan;
    const size_t columns = scan->info.columns, size = qb_dtype_size(scan->info.dtype);
    const float *flat = scan->flat && scan->info.quantity == QB_COUNTS ? scan->flat + row * columns : NULL;
    const float *dark = scan->dark ? scan->dark + row * columns : NULL;
    float values[RUN];
    for (size_t at = 0; at < columns; at += RUN) {
        const size_t count = qb__smaller(RUN, columns - at);
        qb_convert_to_float(raw + at * size, scan->info.dtype, count, values);
        for (size_t i = 0; i < count; i++) {
            const bool alive = !flat || flat[at + i] - (dark ? dark[at + i] : 0) > 0; /* false for NaN */
            if (alive && isfinite(values[i]) && values[i] < l->top) return true;
        }
    }
    return false;
}

/* Rows of the middle view; the number without a value. */
static qb_status look_at_view(const rows_look *l, size_t *lost) {
    const qb_scan_info *info = &l->scan->info;
    const size_t view = info->views / 2, bytes = info->columns * qb_dtype_size(info->dtype);
    qb_status status = QB_OK;
    *lost = 0;
    for (size_t row = 0; row < info->rows && status == QB_OK; row += l->room) {
        const size_t count = qb__smaller(l->room, info->rows - row);
        status = qb_scan_read(l->scan, view, view + 1, row, row + count, l->raw);
        for (size_t i = 0; i < count && status == QB_OK; i++)
            *lost += l->lost[row + i] = !has_value(l, row + i, l->raw + i * bytes);
    }
    return status;
}

/* The same row of all views, until one has a value. */
static qb_status look_at_row(const rows_look *l, size_t row, const qb_env *env) {
    const qb_scan_info *info = &l->scan->info;
    const size_t bytes = info->columns * qb_dtype_size(info->dtype);
    for (size_t view = 0; view < info->views; view += l->room) {
        const size_t count = qb__smaller(l->room, info->views - view);
        qb_status status = qb__check_cancel(env);
        if (status == QB_OK) status = qb_scan_read(l->scan, view, view + count, row, row + 1, l->raw);
        if (status != QB_OK) return status;
        for (size_t i = 0; i < count; i++) {
            if (!has_value(l, row, l->raw + i * bytes)) continue;
            l->lost[row] = false;
            return QB_OK;
        }
    }
    return QB_OK;
}

static void tell(const rows_look *l) {
    qb_scan *scan = l->scan;
    qb__finding finding = {
        .code = QB__CODE("rows-lost"), .what = "rows", .of = scan->info.rows, .done = "without value"};
    finding.count = qb__frame_list_words(l->lost, scan->info.rows, finding.which, sizeof finding.which);
    if (finding.count)
        qb__scan_find(scan, &finding, QB_PROBLEM_PIXELS,
                      "detector rows %s (%zu of %zu) were never measured: what only they see has no value%s",
                      finding.which, finding.count, finding.of, finding.code);
}

qb_status qb__scan_look_at_rows(qb_scan *scan, const qb_env *env, bool **lost) {
    const qb_scan_info *info = &scan->info;
    const size_t bytes = info->columns * qb_dtype_size(info->dtype);
    rows_look l = {.scan = scan, .top = info->quantity == QB_COUNTS ? qb__dtype_top(info->dtype) : INFINITY};
    size_t none, left = 0;
    qb_status status;
    if (scan->parts.data.source->computes || *scan->refused) return QB_OK;
    l.room = qb__larger(1, qb__larger(info->chunk_rows, BLOCK / bytes));
    QB__TRY(qb__alloc(info->rows, sizeof *l.lost, &l.lost));
    QB__TRY(qb__alloc(l.room, bytes, &l.raw));
    QB__TRY(look_at_view(&l, &none));
    for (size_t row = 0; none && row < info->rows; row++)
        if (l.lost[row]) QB__TRY(look_at_row(&l, row, env));
    for (size_t row = 0; row < info->rows; row++) left += l.lost[row];
    if (left == info->rows && scan->flat)
        left = 0; /* the flats are not what they are stated to be, which is reported where they are used */
    else if (left == info->rows)
        qb__scan_refuse(scan, "none of its %zu detector rows was ever measured", info->rows);
    else if (left)
        tell(&l);
    if (left && left < info->rows) *lost = l.lost, l.lost = NULL;
out:
    QB__FREE(l.lost, l.raw);
    return status;
}
