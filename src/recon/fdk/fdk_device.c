/* SPDX-License-Identifier: MIT */
/* The stages of a device for a block of views, and their slots. */
#include "recon/fdk/fdk_device.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/status.h"

/* Wait also after a failure, because running transfers use buffers that will be released. The first failure's message
 * is kept. */
static qb_status finish(qb__queue *queue, qb_status status) {
    char said[1024];
    if (status == QB_OK) return qb__queue_finish(queue);
    snprintf(said, sizeof said, "%s", qb_detail());
    qb__queue_finish(queue);
    return qb__fail(status, "%s", said);
}

/* Values of a view in a run of rows. */
static size_t view_values(const qb__fdk *fdk, const qb__fdk_window *run) {
    return (run->rows.r1 - run->rows.r0) * fdk->width;
}

/* Offset of run `number` in a block of filtered rows, in values. For the number of runs it is the size of the block. */
static size_t block_at(const qb__fdk *fdk, const qb__fdk_piece *p, const qb__fdk_window *run, size_t number) {
    size_t values = 0;
    for (size_t i = 0; i < number; i++) values += view_values(fdk, &run[i]);
    return values * qb__fdk_piece_views(p);
}

/* ---- stages ---- */

static size_t filter_tasks(void *self, size_t chunk) {
    const qb__fdk_gpu *gpu = self;
    const qb__fdk_piece p = qb__fdk_piece_of(gpu->fdk, chunk);
    return qb__fdk_piece_views(&p);
}

static qb_status filter_run(void *self, size_t chunk, size_t task, int worker, const void *in, void *out) {
    const qb__fdk_gpu *gpu = self;
    const qb__fdk *fdk = gpu->fdk;
    const qb__fdk_piece p = qb__fdk_piece_of(fdk, chunk);
    const qb__fdk_window *run;
    const size_t runs = qb__fdk_runs(fdk, chunk, &run), views = qb__fdk_piece_views(&p);
    for (size_t i = 0; i < runs; i++) {
        if (run[i].rows.r0 == run[i].rows.r1) continue;
        const char *raw = (const char *)in + qb__fdk_raw_offset(fdk, run, i, views) +
                          task * (run[i].raw.end - run[i].raw.first) * qb__fdk_raw_row(fdk);
        size_t stride;
        const float *rows =
            qb__fdk_filter_rows(&gpu->filter, &run[i], qb__fdk_piece_view(fdk, &p, task), raw, worker, &stride);
        float *to = (float *)out + block_at(fdk, &p, run, i) + task * view_values(fdk, &run[i]);
        for (size_t r = run[i].rows.r0; r < run[i].rows.r1; r++, rows += stride, to += fdk->width)
            memcpy(to, rows, fdk->width * sizeof *to);
    }
    return QB_OK;
}

static qb_status upload_run(void *self, size_t chunk, size_t task, int worker, const void *in, void *out) {
    (void)task, (void)worker;
    const qb__fdk_gpu *gpu = self;
    const qb__fdk_piece p = qb__fdk_piece_of(gpu->fdk, chunk);
    const qb__fdk_window *run;
    if (gpu->arrays.from) return finish(gpu->up, qb__fdk_gpu_take(gpu, chunk, out));
    const size_t runs = qb__fdk_runs(gpu->fdk, chunk, &run);
    const size_t bytes = gpu->cpu_filter ? block_at(gpu->fdk, &p, run, runs) * sizeof(float)
                                         : qb__fdk_raw_offset(gpu->fdk, run, runs, qb__fdk_piece_views(&p));
    return bytes ? finish(gpu->up, qb__memory_upload(gpu->up, out, 0, in, bytes)) : QB_OK;
}

static qb_status filter_there(void *self, size_t chunk, size_t task, int worker, const void *in, void *out) {
    (void)task, (void)worker;
    const qb__fdk_gpu *gpu = self;
    return finish(gpu->made.queue, qb__fdk_gpu_filter_run(gpu, chunk, (qb__memory *)in, out));
}

/* A part of a slab, and the position of its rows in a block: by runs, or among the rows of all slabs. */
static qb__bp_cone_side side_of(const qb__fdk_gpu *gpu, const qb__fdk_piece *p, const qb__fdk_window *need,
                                size_t number) {
    const qb__fdk *fdk = gpu->fdk;
    const qb__fdk_window *w = &need[number];
    const bool some = w->rows.r0 < w->rows.r1;
    const bool kept = qb__fdk_kept(&fdk->cut);
    size_t at = kept ? 0 : block_at(fdk, p, need, number);
    if (kept && some) at = (w->rows.r0 - fdk->keep.rows.r0) * fdk->width;
    return (qb__bp_cone_side){w->z0, w->z1, w->rows, at * sizeof(float), view_values(fdk, kept ? &fdk->keep : w)};
}

/* `at`: position of this part's slices in the slab. */
static qb_status backproject_side(const qb__fdk_gpu *gpu, const qb__fdk_piece *p, const qb__memory *block,
                                  const qb__bp_cone_side *side, qb__memory *slab, size_t at) {
    const qb__bp_cone_device_variant *variant = qb__fdk_gpu_variant(gpu);
    const size_t slice = gpu->fdk->grid.n[0] * gpu->fdk->grid.n[1] * sizeof(float);
    if (side->z0 == side->z1) return QB_OK;
    if (side->window.r0 == side->window.r1)
        return p->first ? qb__memory_fill(gpu->compute, slab, at * slice, 0, (side->z1 - side->z0) * slice) : QB_OK;
    QB__OR_RETURN(variant->pack(gpu->plan, gpu->compute, block, side->offset, side->view_stride, gpu->fdk->width,
                                p->view0, p->view1, side->window, gpu->packed));
    return variant->run(gpu->plan, gpu->compute, gpu->packed, p->view0, p->view1, side->window, side->z0, side->z1,
                        slab, at * slice, !p->first);
}

static qb_status backproject(const qb__fdk_gpu *gpu, size_t chunk, const qb__fdk_piece *p, const qb__memory *block,
                             qb__memory *slab) {
    const qb__bp_cone_device_variant *variant = qb__fdk_gpu_variant(gpu);
    const qb__fdk_window *need;
    qb__bp_cone_side side[2] = {{.z0 = 0}};
    const size_t parts = qb__fdk_needs(gpu->fdk, chunk, &need);
    for (size_t i = 0; i < parts; i++) side[i] = side_of(gpu, p, need, i);
    const bool both = side[1].z0 < side[1].z1, empty = p->need->rows.r0 == p->need->rows.r1;
    if (both && !empty && qb__bp_cone_pairs(variant, gpu->pick.choice.values)) {
        qb_status status =
            variant->pack_sides(gpu->plan, gpu->compute, block, gpu->fdk->width, p->view0, p->view1, side, gpu->packed);
        if (status != QB_OK) return status;
        return variant->run_sides(gpu->plan, gpu->compute, gpu->packed, p->view0, p->view1, side, slab, 0, !p->first);
    }
    qb_status status = backproject_side(gpu, p, block, &side[0], slab, 0);
    if (status != QB_OK || !both) return status;
    return backproject_side(gpu, p, block, &side[1], slab, side[0].z1 - side[0].z0);
}

static qb_status backproject_run(void *self, size_t chunk, size_t task, int worker, const void *in, void *out) {
    (void)task, (void)worker;
    const qb__fdk_gpu *gpu = self;
    const qb__fdk_piece p = qb__fdk_piece_of(gpu->fdk, chunk);
    if (p.z0 == p.z1) return QB_OK; /* a rank without slices */
    return finish(gpu->compute, backproject(gpu, chunk, &p, in, out));
}

/* Sum a slab over all columns of ranks; the sum is then at the slab's front. */
static qb_status reduce_run(void *self, size_t slab, size_t task, int worker, const void *in, void *out) {
    (void)task, (void)worker, (void)in;
    const qb__fdk_gpu *gpu = self;
    const qb__fdk_window *w = &gpu->fdk->window[slab];
    const size_t *n = gpu->fdk->grid.n;
    return qb__device_sum_run(gpu->sum, out, w->z1 - w->z0, n[0] * n[1]);
}

static qb_status reduce_barrier(void *self, qb_status status) {
    return qb__device_sum_barrier(((const qb__fdk_gpu *)self)->sum, status);
}

/* Copy images of a slab, from the `at`-th on, to an array in the device's memory. */
static qb_status put_images(const qb__fdk_gpu *gpu, const qb__runs *images, const qb__memory *slab, size_t at) {
    qb_status status = QB_OK;
    for (const qb__run *run = images->of; run < images->of + 2 && status == QB_OK; run++) {
        const size_t count = qb__run_count(*run);
        if (count)
            status = qb__device_arrays_put(&gpu->arrays, gpu->out, slab, at, run->first, count, gpu->fdk->grid.n);
        at += count;
    }
    return status;
}

/* Download one piece of a slab. */
static qb_status download_run(void *self, size_t chunk, size_t task, int worker, const void *in, void *out) {
    (void)task, (void)worker;
    const qb__fdk_gpu *gpu = self;
    const qb__cut *cut = &gpu->fdk->cut;
    const size_t piece = qb__fdk_gpu_piece_slices(gpu, cut), pieces = qb__fdk_gpu_pieces(gpu, cut);
    const qb__fdk_window *w = &gpu->fdk->window[chunk / pieces];
    const qb__runs *images = &gpu->run->volume->chunks->chunk[chunk].images;
    const size_t first = chunk % pieces * piece, count = qb__runs_count(images);
    /* slices of the rank's own part of a sum */
    const size_t slices = qb__run_count(qb__cut_column(cut->grid, w->z1 - w->z0));
    if (count == 0) return QB_OK;
    if (gpu->arrays.to) return finish(gpu->out, put_images(gpu, images, in, first));
    return finish(gpu->out, qb__down_run(&gpu->way_down, gpu->convert, gpu->out, in, slices, first, count, out));
}

/* ---- slots ---- */

static qb_status create_slot(void *self, size_t bytes, void **slot) {
    (void)bytes; /* the slot is in device memory */
    const qb__fdk_ring *ring = self;
    qb__memory *memory = NULL;
    qb_status status = qb__memory_create(ring->gpu->pick.device, ring->bytes, &memory);
    *slot = memory;
    return status;
}

static void destroy_slot(void *self, void *slot) {
    (void)self;
    qb__memory_destroy(slot);
}

static qb__slot_maker on_device(qb__fdk_gpu *gpu, qb__fdk_ring *ring, size_t bytes) {
    *ring = (qb__fdk_ring){gpu, bytes};
    return (qb__slot_maker){ring, create_slot, destroy_slot};
}

static qb__slot_maker page_locked(const qb__fdk_gpu *gpu, qb__locked_ring *ring) {
    ring->device = gpu->pick.device;
    ring->env = gpu->run ? gpu->run->env : NULL;
    return qb__locked_slots(ring);
}

/* Stages if the CPU filters: the filter, and the upload of filtered blocks. */
static void filter_on_cpu(qb__fdk_gpu *gpu, const qb__cut *cut, qb__stage *stages) {
    const size_t block = qb__fdk_gpu_block(gpu, cut);
    stages[0] = (qb__stage){.name = "filter",
                            .self = gpu,
                            .slots = cut->slots,
                            .slot_bytes = block,
                            .maker = page_locked(gpu, &gpu->up_from),
                            .tasks = filter_tasks,
                            .run = filter_run};
    stages[1] = (qb__stage){.name = "upload",
                            .self = gpu,
                            .blocking = true,
                            .slots = qb__fdk_gpu_blocks(cut),
                            .maker = on_device(gpu, &gpu->blocks, block),
                            .run = upload_run};
}

/* Stages if the device filters: the upload of raw rows from page-locked memory, and the filter. */
static void filter_on_device(qb__fdk_gpu *gpu, const qb__cut *cut, qb__slot_maker *source, qb__stage *stages) {
    *source = gpu->arrays.from ? qb__token_slots : page_locked(gpu, &gpu->up_from);
    stages[0] = (qb__stage){.name = "upload",
                            .self = gpu,
                            .blocking = true,
                            .slots = qb__fdk_gpu_ahead(gpu, cut),
                            .maker = on_device(gpu, &gpu->raw, qb__fdk_gpu_raw(gpu, cut)),
                            .run = upload_run};
    stages[1] = (qb__stage){.name = "filter",
                            .self = gpu,
                            .blocking = true,
                            .slots = qb__fdk_gpu_blocks(cut),
                            .maker = on_device(gpu, &gpu->blocks, qb__fdk_gpu_block(gpu, cut)),
                            .run = filter_there};
}

static int stages(void *state, const qb__cut *cut, qb__slot_maker *source, qb__stage *stages) {
    qb__fdk_gpu *gpu = state;
    const size_t slab = qb__fdk_gpu_slab(gpu, cut);
    if (gpu->cpu_filter)
        filter_on_cpu(gpu, cut, stages);
    else
        filter_on_device(gpu, cut, source, stages);
    stages[2] = (qb__stage){.name = "back-project",
                            .self = gpu,
                            .blocking = true,
                            .slots = qb__fdk_gpu_rings(cut),
                            .gather = cut->blocks,
                            .maker = on_device(gpu, &gpu->slabs, slab),
                            .run = backproject_run};
    int n = 3;
    if (qb__fdk_gpu_columns(cut) > 1)
        stages[n++] = (qb__stage){.name = "reduce",
                                  .self = gpu,
                                  .blocking = true,
                                  .in_place = true,
                                  .forecast = (double)slab / 4e9,
                                  .run = reduce_run,
                                  .barrier = reduce_barrier};
    stages[n++] = (qb__stage){.name = "download",
                              .self = gpu,
                              .blocking = true,
                              .scatter = qb__fdk_gpu_pieces(gpu, cut),
                              .slots = qb__fdk_gpu_ring(gpu, cut),
                              .slot_bytes = gpu->arrays.to ? 1 : qb__fdk_gpu_piece(gpu, cut),
                              .maker = gpu->arrays.to ? qb__token_slots : page_locked(gpu, &gpu->down),
                              .run = download_run};
    qb__fdk_gpu_forecast(gpu, cut, stages, n);
    qb__fdk_gpu_weigh(gpu, cut, stages);
    return n;
}

/* ---- life ---- */

static qb_status open_device(void *state, const qb__cut *cut, const qb__running *run) {
    qb__fdk_gpu *gpu = state;
    const qb__bp_cone_device_variant *variant = qb__fdk_gpu_variant(gpu);
    const qb__bp_cone_most most = qb__fdk_gpu_most(gpu, cut);
    const qb__bp_cone_problem *problem = &gpu->problem;
    const int *values = gpu->pick.choice.values;
    gpu->run = run;
    QB__OR_RETURN(gpu->cpu_filter ? qb__fdk_filter_open(&gpu->filter, gpu->fdk, run) : qb__fdk_gpu_filter_open(gpu));
    QB__OR_RETURN(qb__queue_create(gpu->pick.device, &gpu->up));
    QB__OR_RETURN(qb__queue_create(gpu->pick.device, &gpu->compute));
    QB__OR_RETURN(qb__queue_create(gpu->pick.device, &gpu->out));
    QB__OR_RETURN(variant->plan(gpu->pick.device, problem, most, values, &gpu->plan));
    QB__OR_RETURN(qb__memory_create(gpu->pick.device, variant->packed_bytes(problem, most, values), &gpu->packed));
    QB__OR_RETURN(
        qb__down_open(&gpu->way_down, gpu->pick.device, gpu->out, run->volume, qb__fdk_gpu_down(cut), &gpu->convert));
    if (qb__fdk_gpu_columns(cut) > 1)
        QB__OR_RETURN(qb__device_sum_open(gpu->pick.device, run->ranks, qb__fdk_gpu_slab(gpu, cut), &gpu->sum));
    QB__OR_RETURN(
        qb__device_arrays_attach(&gpu->arrays, qb__fdk_gpu_has(gpu), gpu->pick.device, gpu->up, gpu->out, run));
    qb__fdk_delegate_reading(gpu->reading, gpu->arrays.from != NULL);
    return QB_OK;
}

static qb_status join_device(void *state) {
    qb__fdk_gpu *gpu = state;
    const qb__cut *cut = &gpu->fdk->cut;
    const double volume =
        (double)qb__run_count(cut->all_slices) * (double)(gpu->fdk->grid.n[0] * gpu->fdk->grid.n[1]) * sizeof(float);
    return gpu->sum ? qb__device_sum_begin(gpu->sum, volume - volume / qb__fdk_gpu_columns(cut)) : QB_OK;
}

static void tell_sums(const qb__fdk_gpu *gpu, cJSON *report) {
    char words[256];
    if (!gpu->sum) return;
    qb__device_sum_report(gpu->sum, words);
    cJSON_AddStringToObject(report, "sums_by", words);
}

/* Warn if values were too large for half precision. Line integrals in a file may have any size. */
static qb_status tell_beyond(const qb__fdk_gpu *gpu, cJSON *report) {
    const qb__bp_cone_device_variant *variant = qb__fdk_gpu_variant(gpu);
    float largest = 0, bound = 0;
    if (!variant->beyond || !gpu->largest) return QB_OK;
    qb_status status = variant->beyond(gpu->plan, gpu->compute, &largest);
    for (size_t v = 0; v < gpu->fdk->problem.views; v++) bound = fmaxf(bound, gpu->largest[v]);
    if (status != QB_OK || largest == 0) return status;
    cJSON_AddNumberToObject(report, "beyond_half_precision", (double)largest);
    qb__warn(gpu->run->env,
             "filtered values up to %.3g were cut to about %.3g in half precision: give --accuracy high" QB__CODE(
                 "half-precision"),
             (double)largest, (double)bound);
    return QB_OK;
}

static qb_status finish_device(void *state, cJSON *report, qb__prep_counts *counts) {
    qb__fdk_gpu *gpu = state;
    qb_status status = qb__down_count(gpu->convert, gpu->out, gpu->run->volume);
    if (status == QB_OK) status = tell_beyond(gpu, report);
    if (status == QB_OK && gpu->made.filter) status = qb__fdk_gpu_filter_count(gpu, counts);
    tell_sums(gpu, report);
    return status;
}

static void close_device(void *state) {
    qb__fdk_gpu *gpu = state;
    qb__fdk_delegate_reading(gpu->reading, false);
    qb__device_arrays_detach(&gpu->arrays, gpu->run);
    qb__queue_destroy(gpu->up);
    qb__queue_destroy(gpu->compute);
    qb__queue_destroy(gpu->out);
    qb__fdk_gpu_variant(gpu)->destroy(gpu->plan);
    qb__memory_destroy(gpu->packed);
    qb__convert_destroy(gpu->convert);
    qb__device_sum_close(gpu->sum);
    qb__fdk_filter_close(&gpu->filter);
    qb__fdk_gpu_filter_close(gpu);
    gpu->up = gpu->compute = gpu->out = NULL;
    gpu->plan = NULL;
    gpu->packed = NULL;
    gpu->convert = NULL;
    gpu->sum = NULL;
}

static void destroy(void *state) {
    qb__fdk_gpu *gpu = state;
    QB__FREE(gpu->largest, gpu);
}

const qb__engine qb__fdk_device = {
    .on_device = true,
    .decide = qb__fdk_gpu_decide,
    .slabs = qb__fdk_gpu_slabs,
    .memory = qb__fdk_gpu_memory,
    .seconds = qb__fdk_gpu_seconds,
    .stages = stages,
    .open = open_device,
    .join = join_device,
    .finish = finish_device,
    .close = close_device,
    .facts = qb__fdk_gpu_facts,
    .destroy = destroy,
};
