/* SPDX-License-Identifier: MIT */
/* The filter stage of a cone beam on the device, with the kernels of parallel rows: raw numbers to line integrals,
 * multiplied by pixel weights, filtered. The weight of a pixel is its cosine, which on a circle depends on its position
 * on the detector, times its redundancy share, which in a short scan depends on the view and, for an untilted detector,
 * on the column:
 *   q(view, row, column) = ramp of (share[row][column] * view_share[view][column] * line integral)
 * Other rows are made from line integrals before they are filtered (fdk_device_rows.c). */
#include "base/status.h"
#include "io/scan/scan.h"
#include "recon/fdk/fdk_device.h"

static bool by_view(const qb__fdk *fdk) { return !fdk->same_weights; }

bool qb__fdk_gpu_makes_rows(const qb__fdk *fdk) {
    return fdk->resampled || !fdk->circular || (by_view(fdk) && !fdk->weights.vertical);
}

const char *qb__fdk_gpu_unfit(const qb__fdk *fdk, const qb__device_info *info) {
    return qb__fdk_gpu_makes_rows(fdk) ? qb__cone_rows_unfit(info) : NULL;
}

/* Number of values in the tables `pixel` and `share`. */
static size_t pixels_of(size_t rows, const qb__fdk *fdk) { return rows * fdk->info->columns; }
static size_t shares_of(const qb__fdk *fdk) { return by_view(fdk) ? fdk->info->views * fdk->info->columns : 0; }

size_t qb__fdk_gpu_filter_tables(const qb__fdk *fdk) {
    if (qb__fdk_gpu_makes_rows(fdk)) return qb__fdk_gpu_rows_tables(fdk);
    return (pixels_of(fdk->info->rows, fdk) + shares_of(fdk) + fdk->info->views) * sizeof(float);
}

size_t qb__fdk_gpu_filter_bytes(const qb__fdk_gpu *gpu, const qb__cut *cut) {
    const qb__fdk *fdk = gpu->fdk;
    const bool makes = qb__fdk_gpu_makes_rows(fdk);
    qb__filter_spectrum spectrum;
    qb__filter_describe(fdk->filter, &spectrum);
    return (makes ? qb__fdk_gpu_rows_bytes(gpu, cut) : qb__fdk_gpu_filter_tables(fdk)) +
           qb__device_filter_forecast(qb__device_info_of(gpu->pick.device), &spectrum, QB__FILTER_AUTO,
                                      fdk->info->views, makes ? 0 : fdk->info->rows, qb__scan_modes(fdk->scan));
}

/* ---- tables ---- */

typedef struct tables {
    float *views, *pixel, *share; /* share: NULL if all views have the same shares */
} tables;

static void drop(tables *t) { QB__FREE(t->views, t->pixel, t->share); }

/* Store shares that depend on the view in a table of their own. The table of pixels then holds only the cosine, without
 * the factor 1/2 of a full turn. */
static qb_status split_shares(const qb__fdk *fdk, size_t pixels, tables *t) {
    const qb_geometry *g = fdk->geometry;
    QB__OR_RETURN(qb__alloc(shares_of(fdk), sizeof *t->share, &t->share));
    for (size_t i = 0; i < pixels; i++) t->pixel[i] *= 2;
    for (size_t v = 0; v < g->views; v++)
        for (size_t c = 0; c < g->columns; c++)
            t->share[v * g->columns + c] =
                (float)qb__cone_redundancy(&fdk->weights, v, qb__cone_fan_angle(&g->view[v], (double)c, 0));
    return QB_OK;
}

static qb_status make_views(const qb__fdk *fdk, tables *t) {
    const double hu = fdk->options->hu > 0 ? 1000.0 / fdk->options->hu : 1.0;
    qb_status status = qb__alloc(fdk->info->views, sizeof *t->views, &t->views);
    for (size_t v = 0; status == QB_OK && v < fdk->info->views; v++) t->views[v] = (float)(fdk->weights.view[v] * hu);
    return status;
}

static qb_status make_pixels(const qb__fdk *fdk, size_t row0, size_t rows, tables *t) {
    qb__cone_weights weights = fdk->weights;
    QB__OR_RETURN(qb__alloc(pixels_of(rows, fdk), sizeof *t->pixel, &t->pixel));
    if (by_view(fdk)) weights.kind = QB_REDUNDANCY_NONE;
    qb__cone_pixel_weights(fdk->geometry, &weights, 0, row0, row0 + rows, t->pixel);
    if (by_view(fdk)) QB__OR_RETURN(split_shares(fdk, pixels_of(rows, fdk), t));
    return QB_OK;
}

/* ---- life ---- */

/* Describe the values that the filter reads: raw numbers, which it weights by tables; or, if rows are made first,
 * weighted line integrals. */
static qb_status describe_rows(qb__fdk_gpu *gpu, tables *t, qb__device_prep *prep) {
    const qb__fdk *fdk = gpu->fdk;
    QB__OR_RETURN(make_views(fdk, t));
    if (qb__fdk_gpu_makes_rows(fdk)) {
        *prep = (qb__device_prep){.quantity = QB_LINE_INTEGRAL,
                                  .dtype = QB_F32,
                                  .views = fdk->info->views,
                                  .weights = t->views,
                                  .rows = fdk->geometry->rows,
                                  .floor = 1};
        return qb__fdk_gpu_rows_open(gpu);
    }
    qb__fdk_gpu_prep(gpu, prep);
    QB__OR_RETURN(make_pixels(fdk, gpu->made.first_row, prep->rows, t));
    prep->weights = t->views;
    prep->share = t->pixel;
    prep->share_rows = true;
    prep->view_share = t->share;
    prep->columns = fdk->info->columns;
    prep->before = fdk->weights.before;
    return QB_OK;
}

qb_status qb__fdk_gpu_filter_open(qb__fdk_gpu *gpu) {
    tables t = {0};
    qb__device_prep prep;
    qb__filter_spectrum spectrum;
    qb_status status;
    gpu->made.first_row = qb__prepare_first_row(gpu->run->prepare);
    QB__TRY(describe_rows(gpu, &t, &prep));
    qb__filter_describe(gpu->fdk->filter, &spectrum);
    QB__TRY(qb__queue_create(gpu->pick.device, &gpu->made.queue));
    QB__TRY(qb__device_filter_create(gpu->pick.device, &spectrum, &prep, QB__FILTER_AUTO, &gpu->made.filter));
out:
    drop(&t);
    return status;
}

void qb__fdk_gpu_filter_close(qb__fdk_gpu *gpu) {
    qb__queue_destroy(gpu->made.queue);
    qb__device_filter_destroy(gpu->made.filter);
    qb__fdk_gpu_rows_close(gpu);
}

/* ---- a block ---- */

/* Rows of one run, which begin `from_at` and `to_at` bytes into the raw and the filtered rows. */
static qb_status filter_run(const qb__fdk_gpu *gpu, const qb__fdk_piece *p, const qb__fdk_window *run, qb__memory *raw,
                            size_t from_at, qb__memory *out, size_t to_at) {
    const qb__fdk *fdk = gpu->fdk;
    const size_t rows = run->rows.r1 - run->rows.r0, range = p->view1 - p->view0;
    const size_t columns = fdk->info->columns, width = fdk->width;
    qb_status status = QB_OK;
    for (size_t i = 0; i < p->turns && status == QB_OK; i++) {
        const size_t view = qb__fdk_piece_view(fdk, p, i * range), before = i * range * rows;
        const qb__device_rows from = {raw, from_at + before * qb__fdk_raw_row(fdk), rows * columns, columns};
        const qb__device_rows to = {out, to_at + before * width * sizeof(float), rows * width, width};
        status = qb__device_filter_run(gpu->made.filter, gpu->made.queue, &from, view, view + range, (unsigned)rows,
                                       run->rows.r0 - gpu->made.first_row, 1, &to);
    }
    return status;
}

qb_status qb__fdk_gpu_filter_run(const qb__fdk_gpu *gpu, size_t chunk, qb__memory *raw, qb__memory *out) {
    const qb__fdk *fdk = gpu->fdk;
    const qb__fdk_piece p = qb__fdk_piece_of(fdk, chunk);
    const qb__fdk_window *run;
    const size_t runs = qb__fdk_runs(fdk, chunk, &run), views = qb__fdk_piece_views(&p);
    qb_status status = QB_OK;
    size_t from = 0, to = 0;
    for (size_t i = 0; i < runs && status == QB_OK; i++) {
        const size_t rows = run[i].rows.r1 - run[i].rows.r0;
        if (rows && gpu->made.rows)
            status = qb__fdk_gpu_rows_run(gpu, &p, &run[i], raw, from, out, to);
        else if (rows)
            status = filter_run(gpu, &p, &run[i], raw, from, out, to);
        from += views * (run[i].raw.end - run[i].raw.first) * qb__fdk_raw_row(fdk);
        to += views * rows * fdk->width * sizeof(float);
    }
    return status;
}

/* Rows that slabs share are prepared, and counted, for each slab, as on the CPU, unless they are kept. */
qb_status qb__fdk_gpu_filter_count(const qb__fdk_gpu *gpu, qb__prep_counts *counts) {
    const qb__fdk *fdk = gpu->fdk;
    qb__device_filter_counts found;
    qb__device_filter *reads_raw = gpu->made.rows ? gpu->made.prepare : gpu->made.filter;
    QB__OR_RETURN(qb__device_filter_found(reads_raw, gpu->made.queue, &found));
    counts->clamped += found.clamped;
    counts->not_finite += found.not_finite;
    counts->dead += found.dead;
    counts->saturated += found.saturated;
    for (size_t slab = 0; slab < fdk->cut.slabs; slab++) {
        const qb__fdk_window *run;
        const size_t runs = qb__fdk_runs(fdk, slab * fdk->cut.blocks, &run);
        for (size_t i = 0; i < runs; i++)
            counts->values += (uint64_t)(run[i].raw.end - run[i].raw.first) * fdk->info->views * fdk->info->columns;
    }
    return QB_OK;
}
