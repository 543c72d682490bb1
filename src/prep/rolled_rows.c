/* SPDX-License-Identifier: MIT */
#include "prep/rolled_rows.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "ops/filter.h"

static size_t image_stride(const qb__rolled_rows *rolled) {
    return qb__round_up(rolled->info->columns + 2 * QB__RESAMPLE_EDGE, 16);
}

void qb__rolled_rows_window(const qb__rolled_rows *rolled, size_t row0, size_t row1, size_t *first, size_t *end) {
    qb__roll_rows(rolled->roll, row0, row1, QB__RESAMPLE_MARGIN, first, end);
}

size_t qb__rolled_rows_most(const qb__rolled_rows *rolled, size_t count) {
    return qb__roll_most(rolled->roll, count, QB__RESAMPLE_MARGIN);
}

static size_t places_bytes(const qb__rolled_rows *rolled) {
    return 2 * qb__round_up(rolled->info->columns, 8) * sizeof(double);
}

size_t qb__rolled_rows_scratch(const qb__rolled_rows *rolled, size_t count) {
    return places_bytes(rolled) + qb__rolled_rows_most(rolled, count) * image_stride(rolled) * sizeof(float);
}

/* Continues a row beyond its measured pixels, as beyond the end of a detector. */
static void go_on(const qb__rolled_rows *rolled, float *row) {
    const size_t columns = rolled->info->columns;
    size_t first = 0, end = columns;
    while (first < columns && isnan(row[first])) first++;
    while (end > first && isnan(row[end - 1])) end--;
    if (first == end) {
        memset(row, 0, columns * sizeof *row);
        return;
    }
    qb__resample_fill(row + first, end - first);
    qb__extend(rolled->pad, row + first, end - first, first, columns - end);
}

void qb__rolled_rows_view(const qb__rolled_rows *rolled, const qb__prepare *prepare, size_t view, size_t row0,
                          size_t step, size_t count, const char *raw, float *out, size_t stride, void *scratch,
                          qb__prep_counts *counts) {
    const qb_scan_info *info = rolled->info;
    const size_t columns = info->columns, across = image_stride(rolled);
    double *column = scratch, *row = column + qb__round_up(columns, 8);
    float *cells = (float *)((char *)scratch + places_bytes(rolled)) + QB__RESAMPLE_EDGE;
    size_t first, end;
    qb__rolled_rows_window(rolled, row0, row0 + (count - 1) * step + 1, &first, &end);
    for (size_t r = first; r < end; r++, raw += columns * (prepare ? qb_dtype_size(info->dtype) : sizeof(float))) {
        float *to = cells + (r - first) * across;
        if (prepare)
            qb__prepare_row(prepare, view, r, raw, to, counts);
        else
            memcpy(to, raw, columns * sizeof *to);
        qb__resample_extend(to, columns);
    }
    const qb__resample_image image = {
        .cells = cells, .stride = across, .columns = columns, .rows = info->rows, .row0 = first, .row1 = end};
    for (size_t i = 0; i < count; i++) {
        qb__roll_line(rolled->roll, view, row0 + i * step, column, row);
        qb__resample_row(rolled->resampler, &image, column, row, columns, NAN, out + i * stride);
        go_on(rolled, out + i * stride);
    }
}
