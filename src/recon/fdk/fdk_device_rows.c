/* SPDX-License-Identifier: MIT */
/* Makes rows on the device before they are filtered, if a detector is resampled or its pixel weights differ between
 * views. Raw numbers of some views become line integrals, then weighted rows, then filtered rows. Two buffers of device
 * memory lie between these steps; they fit into the device's cache. */
#include "base/status.h"
#include "io/scan/scan.h"
#include "recon/fdk/fdk_device.h"

enum { BETWEEN = 32 << 20 }; /* bytes of both buffers, except for a single view */

static size_t lines_of_view(const qb__fdk *fdk) {
    return qb__larger(1, fdk->raw_rows) * fdk->info->columns * sizeof(float);
}
static size_t rows_of_view(const qb__fdk *fdk) { return fdk->window_rows * fdk->width * sizeof(float); }

static size_t views_at_once(const qb__fdk *fdk, const qb__cut *cut) {
    return qb__larger(1, qb__smaller(cut->views * fdk->turns, BETWEEN / (lines_of_view(fdk) + rows_of_view(fdk))));
}

static qb__cone_rows_plan plan_of(const qb__fdk *fdk) {
    return (qb__cone_rows_plan){.geometry = fdk->geometry,
                                .weights = &fdk->weights,
                                .virtual_detector = fdk->resampled ? &fdk->virtual_detector : NULL,
                                .taps = fdk->resampled ? qb__resampler_taps(fdk->resampler) : NULL,
                                .columns = fdk->info->columns,
                                .rows = fdk->info->rows,
                                .pad = fdk->options->pad};
}

static qb__filter_spectrum no_filter(const qb__fdk *fdk) {
    return (qb__filter_spectrum){.columns = fdk->info->columns, .identity = true};
}

size_t qb__fdk_gpu_rows_bytes(const qb__fdk_gpu *gpu, const qb__cut *cut) {
    const qb__fdk *fdk = gpu->fdk;
    const qb__cone_rows_plan plan = plan_of(fdk);
    const qb__filter_spectrum none = no_filter(fdk);
    return views_at_once(fdk, cut) * (lines_of_view(fdk) + rows_of_view(fdk)) + qb__cone_rows_bytes(&plan) +
           qb__device_filter_forecast(qb__device_info_of(gpu->pick.device), &none, QB__FILTER_AUTO, fdk->info->views,
                                      fdk->info->rows, qb__scan_modes(fdk->scan));
}

/* Host bytes of the tables of qb__cone_rows and of the filters' weights. */
size_t qb__fdk_gpu_rows_tables(const qb__fdk *fdk) {
    const qb__cone_rows_plan plan = plan_of(fdk);
    return qb__cone_rows_bytes(&plan) + 2 * fdk->info->views * sizeof(float);
}

/* Open the preparation to line integrals without weights; qb__cone_rows applies these later. */
static qb_status open_prepare(qb__fdk_gpu *gpu) {
    const qb__filter_spectrum none = no_filter(gpu->fdk);
    const size_t views = gpu->fdk->info->views;
    qb__device_prep prep;
    float *ones;
    QB__OR_RETURN(qb__alloc(views, sizeof *ones, &ones));
    for (size_t v = 0; v < views; v++) ones[v] = 1;
    qb__fdk_gpu_prep(gpu, &prep);
    prep.weights = ones;
    qb_status status = qb__device_filter_create(gpu->pick.device, &none, &prep, QB__FILTER_AUTO, &gpu->made.prepare);
    qb__free(ones);
    return status;
}

qb_status qb__fdk_gpu_rows_open(qb__fdk_gpu *gpu) {
    const qb__fdk *fdk = gpu->fdk;
    const qb__cone_rows_plan plan = plan_of(fdk);
    qb__fdk_made *made = &gpu->made;
    made->views = views_at_once(fdk, &fdk->cut);
    QB__OR_RETURN(open_prepare(gpu));
    QB__OR_RETURN(qb__cone_rows_create(gpu->pick.device, &plan, &made->rows));
    QB__OR_RETURN(qb__memory_create(gpu->pick.device, made->views * lines_of_view(fdk), &made->lines));
    return qb__memory_create(gpu->pick.device, made->views * rows_of_view(fdk), &made->weighted);
}

void qb__fdk_gpu_rows_close(qb__fdk_gpu *gpu) {
    qb__device_filter_destroy(gpu->made.prepare);
    qb__cone_rows_destroy(gpu->made.rows);
    QB__MEMORY_DESTROY(gpu->made.lines, gpu->made.weighted);
    gpu->made = (qb__fdk_made){0};
}

/* Process views view0 <= v < view1. The rows of the first one begin at the given offsets. */
static qb_status run_views(const qb__fdk_gpu *gpu, const qb__fdk_window *run, size_t view0, size_t view1,
                           qb__memory *raw, size_t from, qb__memory *out, size_t to) {
    const qb__fdk *fdk = gpu->fdk;
    const qb__fdk_made *made = &gpu->made;
    const size_t lines = run->raw.end - run->raw.first, rows = run->rows.r1 - run->rows.r0;
    const size_t columns = fdk->info->columns, width = fdk->width;
    const qb__device_rows raw_rows = {raw, from, lines * columns, columns},
                          line_rows = {made->lines, 0, lines * columns, columns};
    const qb__device_rows weighted = {made->weighted, 0, rows * width, width},
                          filtered = {out, to, rows * width, width};
    const qb__cone_rows_block block = {view0, view1, run->rows.r0, run->rows.r1, run->raw.first, run->raw.end};
    if (lines)
        QB__OR_RETURN(qb__device_filter_run(made->prepare, gpu->made.queue, &raw_rows, view0, view1, (unsigned)lines,
                                            run->raw.first - gpu->made.first_row, 1, &line_rows));
    QB__OR_RETURN(qb__cone_rows_run(made->rows, gpu->made.queue, &block, made->lines, made->weighted));
    return qb__device_filter_run(gpu->made.filter, gpu->made.queue, &weighted, view0, view1, (unsigned)rows,
                                 run->rows.r0, 1, &filtered);
}

qb_status qb__fdk_gpu_rows_run(const qb__fdk_gpu *gpu, const qb__fdk_piece *p, const qb__fdk_window *run,
                               qb__memory *raw, size_t from, qb__memory *out, size_t to) {
    const qb__fdk *fdk = gpu->fdk;
    const size_t range = p->view1 - p->view0;
    const size_t raw_view = (run->raw.end - run->raw.first) * qb__fdk_raw_row(fdk);
    const size_t out_view = (run->rows.r1 - run->rows.r0) * fdk->width * sizeof(float);
    for (size_t turn = 0; turn < p->turns; turn++) {
        for (size_t i = 0; i < range; i += gpu->made.views) {
            const size_t at = turn * range + i, view = qb__fdk_piece_view(fdk, p, at),
                         count = qb__smaller(gpu->made.views, range - i);
            const qb_status status =
                run_views(gpu, run, view, view + count, raw, from + at * raw_view, out, to + at * out_view);
            if (status != QB_OK) return status;
        }
    }
    return QB_OK;
}

void qb__fdk_gpu_prep(const qb__fdk_gpu *gpu, qb__device_prep *prep) {
    const qb__prep *steps = qb__prepare_steps(gpu->run->prepare);
    *prep = (qb__device_prep){.quantity = steps->quantity,
                              .dtype = steps->dtype,
                              .views = gpu->fdk->info->views,
                              .air = steps->air,
                              .rows = qb__prepare_rows_held(gpu->run->prepare),
                              .dark = steps->dark,
                              .gain = steps->gain,
                              .floor = steps->floor,
                              .most = steps->most};
    qb__prep_changes(steps, prep);
    qb__prep_define(steps, &prep->steps);
}
