/* SPDX-License-Identifier: MIT */
/* The filter stage of a cone-beam reconstruction, one view at a time: line integrals; resampled if the detector is
 * tilted or curved; weighted; filtered. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "ops/filter.h"
#include "recon/fdk/fdk_cpu.h"

enum { LINE = 16 }; /* floats per cache line */

static size_t row_stride(const qb__fdk *fdk) { return qb__round_up(fdk->width, LINE); }
static size_t image_stride(const qb__fdk *fdk) {
    return qb__round_up(fdk->info->columns + 2 * QB__RESAMPLE_EDGE, LINE);
}

/* Scratch of a thread: rows of a view; their weights; for resampling the detector's own rows and the positions to read;
 * scratch of the filter. */
typedef struct scratch_parts {
    float *rows, *weights, *image;
    double *column, *row;
    void *filter;
    size_t bytes;
} scratch_parts;

static scratch_parts lay_out(const qb__fdk *fdk, char *scratch) {
    scratch_parts d = {0};
    size_t columns = fdk->geometry->columns, at = 0;
    d.rows = (float *)(scratch + at);
    at += fdk->window_rows * row_stride(fdk) * sizeof(float);
    d.weights = (float *)(scratch + at);
    if (!fdk->same_weights) at += qb__round_up(fdk->window_rows * columns, LINE) * sizeof(float);
    d.image = (float *)(scratch + at);
    if (fdk->resampled) at += fdk->raw_rows * image_stride(fdk) * sizeof(float);
    d.column = (double *)(scratch + at);
    if (fdk->resampled) at += 2 * qb__round_up(columns, LINE) * sizeof(double);
    d.row = d.column + qb__round_up(columns, LINE);
    d.filter = scratch + at;
    d.bytes = at + qb__filter_scratch(fdk->filter);
    return d;
}

size_t qb__fdk_filter_scratch(const qb__fdk *fdk) {
    static char base[1];
    return lay_out(fdk, base).bytes;
}

/* ---- weights that are equal in all views ---- */

size_t qb__fdk_filter_bytes(const qb__fdk *fdk) {
    const qb_geometry *geometry = fdk->geometry;
    return fdk->same_weights ? geometry->rows * geometry->columns * sizeof(float) : 0;
}

qb_status qb__fdk_filter_open(qb__fdk_filter *filter, const qb__fdk *fdk, const qb__running *run) {
    const qb_geometry *geometry = fdk->geometry;
    filter->fdk = fdk;
    filter->run = run;
    if (!fdk->same_weights) return QB_OK;
    qb_status status = qb__alloc(geometry->rows * geometry->columns, sizeof(float), &filter->pixel_weights);
    if (status == QB_OK) qb__cone_pixel_weights(geometry, &fdk->weights, 0, 0, geometry->rows, filter->pixel_weights);
    return status;
}

void qb__fdk_filter_close(qb__fdk_filter *filter) {
    qb__free(filter->pixel_weights);
    filter->pixel_weights = NULL;
}

/* ---- a view ---- */

/* Prepare the window's rows as they are on the detector. */
static void prepare_rows(const qb__fdk_filter *filter, const qb__fdk_window *window, size_t view, const char *raw,
                         int worker, const scratch_parts *d) {
    const qb__fdk *fdk = filter->fdk;
    for (size_t r = window->rows.r0; r < window->rows.r1; r++, raw += qb__fdk_raw_row(fdk))
        qb__prepare_row(filter->run->prepare, view, r, raw,
                        d->rows + (r - window->rows.r0) * row_stride(fdk) + fdk->weights.before,
                        &filter->run->counts[worker]);
}

/* A row ends where pixels were not measured: --pad continues it there. */
static void continue_row(const qb__fdk *fdk, float *row) {
    size_t columns = fdk->geometry->columns, first = 0, end = columns;
    while (first < columns && isnan(row[first])) first++;
    while (end > first && isnan(row[end - 1])) end--;
    if (first == end) {
        memset(row, 0, columns * sizeof *row);
        return;
    }
    qb__resample_fill(row + first, end - first);
    qb__extend(fdk->options->pad, row + first, end - first, first, columns - end);
}

/* Interpolate the window's rows between rows of the detector. */
static void resample_rows(const qb__fdk_filter *filter, const qb__fdk_window *window, size_t view, const char *raw,
                          int worker, const scratch_parts *d) {
    const qb__fdk *fdk = filter->fdk;
    size_t stride = image_stride(fdk), columns = fdk->geometry->columns;
    qb__resample_image image = {.cells = d->image + QB__RESAMPLE_EDGE,
                                .stride = stride,
                                .columns = fdk->info->columns,
                                .rows = fdk->info->rows,
                                .row0 = window->raw.first,
                                .row1 = window->raw.end};
    for (size_t r = window->raw.first; r < window->raw.end; r++, raw += qb__fdk_raw_row(fdk)) {
        float *row = d->image + (r - window->raw.first) * stride + QB__RESAMPLE_EDGE;
        qb__prepare_row(filter->run->prepare, view, r, raw, row, &filter->run->counts[worker]);
        qb__resample_extend(row, fdk->info->columns);
    }
    for (size_t r = window->rows.r0; r < window->rows.r1; r++) {
        float *row = d->rows + (r - window->rows.r0) * row_stride(fdk) + fdk->weights.before;
        qb__virtual_detector_line(&fdk->virtual_detector, view, r, d->column, d->row);
        qb__resample_row(fdk->resampler, &image, d->column, d->row, columns, NAN, row);
        continue_row(fdk, row);
    }
}

/* Multiply by weights, between the columns added on both sides. */
static void weight_row(const qb__fdk *fdk, const float *weight, float *row) {
    size_t before = fdk->weights.before, columns = fdk->geometry->columns;
    float *middle = row + before;
    memset(row, 0, before * sizeof *row);
    for (size_t i = 0; i < columns; i++) middle[i] *= weight[i];
    memset(middle + columns, 0, fdk->weights.after * sizeof *row);
}

const float *qb__fdk_filter_rows(const qb__fdk_filter *filter, const qb__fdk_window *window, size_t view,
                                 const char *raw, int worker, size_t *row_stride_out) {
    const qb__fdk *fdk = filter->fdk;
    scratch_parts d = lay_out(fdk, filter->run->scratch[worker]);
    size_t columns = fdk->geometry->columns, stride = row_stride(fdk);
    size_t r0 = window->rows.r0, count = window->rows.r1 - r0;
    (fdk->resampled ? resample_rows : prepare_rows)(filter, window, view, raw, worker, &d);
    if (fdk->same_weights)
        d.weights = filter->pixel_weights + r0 * columns;
    else
        qb__cone_pixel_weights(fdk->geometry, &fdk->weights, view, r0, r0 + count, d.weights);
    for (size_t r = 0; r < count; r++) weight_row(fdk, d.weights + r * columns, d.rows + r * stride);
    double hu = fdk->options->hu > 0 ? 1000.0 / fdk->options->hu : 1.0;
    qb__filter_rows(fdk->filter, d.rows, count, stride, (float)(fdk->weights.view[view] * hu), d.filter);
    *row_stride_out = stride;
    return d.rows;
}
