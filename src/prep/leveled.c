/* SPDX-License-Identifier: MIT */
#include "prep/leveled.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "ops/extend.h"

static size_t image_stride(const qb__leveled *leveled) {
    return qb__round_up(leveled->info->columns + 2 * QB__RESAMPLE_EDGE, 16);
}

void qb__leveled_window(const qb__leveled *leveled, size_t row0, size_t row1, size_t *first, size_t *end) {
    qb__level_rows(leveled->level, row0, row1, QB__RESAMPLE_MARGIN, first, end);
}

size_t qb__leveled_most(const qb__leveled *leveled, size_t count) {
    return qb__level_most(leveled->level, count, QB__RESAMPLE_MARGIN);
}

static size_t places_bytes(const qb__leveled *leveled) {
    return 2 * qb__round_up(leveled->info->columns, 8) * sizeof(double);
}

size_t qb__leveled_scratch(const qb__leveled *leveled, size_t count) {
    return places_bytes(leveled) + qb__leveled_most(leveled, count) * image_stride(leveled) * sizeof(float);
}

/* The detector ends where its pixels saw nothing. */
static void go_on(const qb__leveled *leveled, float *row) {
    const size_t columns = leveled->info->columns;
    size_t first = 0, end = columns;
    while (first < columns && isnan(row[first])) first++;
    while (end > first && isnan(row[end - 1])) end--;
    if (first == end) {
        memset(row, 0, columns * sizeof *row);
        return;
    }
    qb__resample_fill(row + first, end - first);
    qb__extend(leveled->pad, row + first, end - first, first, columns - end);
}

void qb__leveled_view(const qb__leveled *leveled, const qb__prepare *prepare, size_t view, size_t row0, size_t step,
                      size_t count, const char *raw, float *out, size_t stride, void *scratch,
                      qb__prep_counts *counts) {
    const qb_scan_info *info = leveled->info;
    const size_t columns = info->columns, across = image_stride(leveled);
    double *column = scratch, *row = column + qb__round_up(columns, 8);
    float *cells = (float *)((char *)scratch + places_bytes(leveled)) + QB__RESAMPLE_EDGE;
    size_t first, end;
    qb__leveled_window(leveled, row0, row0 + (count - 1) * step + 1, &first, &end);
    for (size_t r = first; r < end; r++, raw += columns * qb_dtype_size(info->dtype)) {
        qb__prepare_row(prepare, view, r, raw, cells + (r - first) * across, counts);
        qb__resample_extend(cells + (r - first) * across, columns);
    }
    const qb__resample_image image = {
        .cells = cells, .stride = across, .columns = columns, .rows = info->rows, .row0 = first, .row1 = end};
    for (size_t i = 0; i < count; i++) {
        qb__level_line(leveled->level, view, row0 + i * step, column, row);
        qb__resample_row(leveled->resampler, &image, column, row, columns, NAN, out + i * stride);
        go_on(leveled, out + i * stride);
    }
}
