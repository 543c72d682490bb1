/* SPDX-License-Identifier: MIT */
/* Detects a program's scaling of every view, or of the whole scan, to 0..1. Then each view, or the scan, has one number
 * 0 and one number 1, which a measurement does not give. For other scans a few rows of the first view are enough: noise
 * in air is on both sides of 1, or of 0. */
#include <math.h>

#include "base/memory.h"
#include "base/status.h"
#include "base/warning.h"
#include "io/scan/scan.h"
#include "quickbeam/io.h"

enum { VIEWS = 4, BLOCK = 1 << 20 /* bytes read at once: a compressed chunk is unpacked for each read */ };

/* Rows read at once, at least one. */
static size_t rows_at_once(const qb_scan_info *info) {
    const size_t fit = BLOCK / (info->columns * qb_dtype_size(info->dtype));
    return fit < 1 ? 1 : qb__smaller(fit, info->rows);
}

/* The values of rows [row, row + count) of a view, dense. */
static qb_status read_rows(qb_scan *scan, size_t view, size_t row, size_t count, char *raw, float *values) {
    const qb_status status = qb_scan_read(scan, view, view + 1, row, row + count, raw);
    if (status == QB_OK) qb_convert_to_float(raw, scan->info.dtype, count * scan->info.columns, values);
    return status;
}

/* True if all numbers of a view are within 0..1 and reach both limits. If air is 1 in many pixels, it was clipped. */
static qb_status look(qb_scan *scan, size_t view, char *raw, float *line, bool *scaled) {
    const double MANY = 0.02;
    const qb_scan_info *info = &scan->info;
    const size_t step = rows_at_once(info);
    size_t zeros = 0, ones = 0;
    *scaled = false;
    for (size_t row = 0; row < info->rows; row += step) {
        const size_t rows = qb__smaller(step, info->rows - row);
        QB__OR_RETURN(read_rows(scan, view, row, rows, raw, line));
        for (size_t i = 0; i < rows * info->columns; i++) {
            if (!(line[i] >= 0 && line[i] <= 1)) return QB_OK;
            zeros += line[i] == 0;
            ones += line[i] == 1;
        }
    }
    *scaled = zeros && ones && (double)ones < MANY * (double)(info->rows * info->columns);
    return QB_OK;
}

/* ---- the whole scan ---- */

typedef struct tally {
    size_t zeros, ones, near_one, all;
} tally;

/* Continues until a number is outside. */
static qb_status count(qb_scan *scan, char *raw, float *line, tally *t, bool *within) {
    const qb_scan_info *info = &scan->info;
    const size_t step = rows_at_once(info);
    *within = true;
    for (size_t view = 0; view < info->views; view++) {
        for (size_t row = 0; row < info->rows; row += step) {
            const size_t rows = qb__smaller(step, info->rows - row);
            QB__OR_RETURN(read_rows(scan, view, row, rows, raw, line));
            for (size_t i = 0; i < rows * info->columns; i++) {
                *within &= line[i] >= 0 && line[i] <= 1;
                t->zeros += line[i] == 0;
                t->ones += line[i] == 1;
                t->near_one += line[i] > 0.98f && line[i] < 1;
            }
            if (!*within) return QB_OK;
        }
    }
    t->all = info->views * info->rows * info->columns;
    return QB_OK;
}

/* Noise has one smallest and one largest number. Without noise, air is at one end, in many pixels; clipped numbers have
 * as many others next to the limit. */
static bool is_scaled(const tally *t, qb_quantity quantity) {
    const size_t few = 4 + t->all / 1000000;
    const bool zeros = t->zeros && t->zeros <= few, ones = t->ones && t->ones <= few;
    if (quantity == QB_LINE_INTEGRAL) return t->zeros && ones;
    return zeros && (ones || (t->ones && 5 * t->near_one < t->ones));
}

static qb_status look_at_all(qb_scan *scan, char *raw, float *line) {
    const double MOST = 256e6; /* bytes: more take longer to read than the result is worth */
    const qb_scan_info *info = &scan->info;
    tally t = {0};
    bool within;
    if ((double)info->views * (double)info->rows * (double)info->columns * (double)qb_dtype_size(info->dtype) > MOST)
        return QB_OK;
    const qb_status status = count(scan, raw, line, &t, &within);
    if (status == QB_OK && within && is_scaled(&t, info->quantity))
        qb__note_of(&scan->parts.notes, QB_PROBLEM_PIXELS,
                    "all values together span exactly 0 to 1: a program scaled the scan by its least and largest "
                    "value; give the values as they were before" QB__CODE("scan-scaled"));
    return status;
}

qb_status qb__scan_look_at_scales(qb_scan *scan) {
    const qb_scan_info *info = &scan->info;
    char *raw = NULL;
    float *line = NULL;
    bool scaled = true;
    qb_status status = QB_OK;
    if (!qb_dtype_is_float(info->dtype) || info->quantity == QB_COUNTS || *scan->refused) return QB_OK;
    if (scan->parts.data.source->computes || qb__scan_on_device(scan) || info->views < VIEWS) return QB_OK;
    QB__TRY(qb__alloc(rows_at_once(info) * info->columns, qb_dtype_size(info->dtype), &raw));
    QB__TRY(qb__alloc(rows_at_once(info) * info->columns, sizeof *line, &line));
    for (size_t i = 0; i < VIEWS && scaled; i++)
        QB__TRY(look(scan, i * (info->views - 1) / (VIEWS - 1), raw, line, &scaled));
    if (scaled)
        qb__note_of(&scan->parts.notes, QB_PROBLEM_PIXELS,
                    "each view spans exactly 0 to 1: a program scaled every view by itself, and values are lost; give "
                    "the views as they were before" QB__CODE("views-scaled"));
    else
        status = look_at_all(scan, raw, line);
out:
    QB__FREE(raw, line);
    return status;
}
