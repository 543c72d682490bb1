/* SPDX-License-Identifier: MIT */
/* What a device does with a block of views, and the slots that it passes through. */
#include "recon/fdk/fdk_device.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"

/* Wait, after a failure as well: what is still on its way uses buffers that are about to go. The first
 * failure's words stay. */
static qb_status finish(qb__queue *queue, qb_status status) {
    char said[1024];
    if (status == QB_OK) return qb__queue_finish(queue);
    snprintf(said, sizeof said, "%s", qb_detail());
    qb__queue_finish(queue);
    return qb__fail(status, "%s", said);
}

static bool is_empty(const qb__fdk_piece *p) { return p->need->rows.r0 == p->need->rows.r1; }

/* Values of a view of the piece. */
static size_t view_values(const qb__fdk *fdk, const qb__fdk_piece *p) {
    return (p->need->rows.r1 - p->need->rows.r0) * fdk->width;
}

/* ---- stages ---- */

static size_t filter_tasks(void *self, size_t chunk) {
    const qb__fdk_gpu *gpu = self;
    const qb__fdk_piece p = qb__fdk_piece_of(gpu->fdk, chunk);
    return p.view1 - p.view0;
}

static qb_status filter_run(void *self, size_t chunk, size_t task, int worker, const void *in,
                            void *out) {
    const qb__fdk_gpu *gpu = self;
    const qb__fdk *fdk = gpu->fdk;
    const qb__fdk_piece p = qb__fdk_piece_of(fdk, chunk);
    if (is_empty(&p)) return QB_OK;
    const char *raw = (const char *)in + task * qb__fdk_raw_rows(&p) * qb__fdk_raw_row(fdk);
    size_t stride;
    const float *rows = qb__fdk_filter_rows(&gpu->filter, p.need, p.view0 + task, raw, worker, &stride);
    float *to = (float *)out + task * view_values(fdk, &p);
    for (size_t r = p.need->rows.r0; r < p.need->rows.r1; r++, rows += stride, to += fdk->width)
        memcpy(to, rows, fdk->width * sizeof *to);
    return QB_OK;
}

static qb_status upload_run(void *self, size_t chunk, size_t task, int worker, const void *in,
                            void *out) {
    (void)task, (void)worker;
    const qb__fdk_gpu *gpu = self;
    const qb__fdk_piece p = qb__fdk_piece_of(gpu->fdk, chunk);
    if (is_empty(&p)) return QB_OK;
    const size_t bytes = (p.view1 - p.view0) * view_values(gpu->fdk, &p) * sizeof(float);
    return finish(gpu->up, qb__memory_upload(gpu->up, out, 0, in, bytes));
}

static qb_status backproject(const qb__fdk_gpu *gpu, const qb__fdk_piece *p, const qb__memory *block,
                             qb__memory *slab) {
    const qb__bp_cone_device_variant *variant = qb__bp_cone_on_device(gpu->choice.variant);
    const size_t *n = gpu->fdk->grid.n;
    if (is_empty(p))
        return p->first ? qb__memory_fill(gpu->compute, slab, 0, 0,
                                          (p->z1 - p->z0) * n[0] * n[1] * sizeof(float))
                        : QB_OK;
    qb_status status = variant->pack(gpu->plan, gpu->compute, block, 0, view_values(gpu->fdk, p),
                                     gpu->fdk->width, p->view1 - p->view0, p->need->rows, gpu->packed);
    if (status != QB_OK) return status;
    return variant->run(gpu->plan, gpu->compute, gpu->packed, p->view0, p->view1, p->need->rows, p->z0,
                        p->z1, slab, 0, !p->first);
}

static qb_status backproject_run(void *self, size_t chunk, size_t task, int worker, const void *in,
                                 void *out) {
    (void)task, (void)worker;
    const qb__fdk_gpu *gpu = self;
    const qb__fdk_piece p = qb__fdk_piece_of(gpu->fdk, chunk);
    return finish(gpu->compute, backproject(gpu, &p, in, out));
}

static qb_status download_run(void *self, size_t slab, size_t task, int worker, const void *in,
                              void *out) {
    (void)task, (void)worker;
    const qb__fdk_gpu *gpu = self;
    const qb__fdk_window *w = &gpu->fdk->window[slab];
    const size_t bytes = (w->z1 - w->z0) * gpu->fdk->grid.n[0] * gpu->fdk->grid.n[1] * sizeof(float);
    return finish(gpu->out, qb__memory_download(gpu->out, in, 0, out, bytes));
}

/* ---- slots ---- */

static qb_status create_slot(void *self, size_t bytes, void **slot) {
    (void)bytes; /* none on the host */
    const qb__fdk_ring *ring = self;
    qb__memory *memory = NULL;
    qb_status status = qb__memory_create(ring->gpu->device, ring->bytes, &memory);
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
    ring->device = gpu->device;
    ring->env = gpu->run ? gpu->run->env : NULL;
    return qb__locked_slots(ring);
}

static int stages(void *state, const qb__cut *cut, qb__slot_maker *source, qb__stage *stages) {
    (void)source; /* what is read is the host's */
    qb__fdk_gpu *gpu = state;
    const size_t block = qb__fdk_gpu_block(gpu, cut), slab = qb__fdk_gpu_slab(gpu, cut);
    stages[0] = (qb__stage){.name = "filter",
                            .self = gpu,
                            .slots = cut->slots,
                            .slot_bytes = block,
                            .maker = page_locked(gpu, &gpu->filtered),
                            .tasks = filter_tasks,
                            .run = filter_run};
    stages[1] = (qb__stage){.name = "upload",
                            .self = gpu,
                            .blocking = true,
                            .slots = cut->slots,
                            .maker = on_device(gpu, &gpu->blocks, block),
                            .run = upload_run};
    stages[2] = (qb__stage){.name = "back-project",
                            .self = gpu,
                            .blocking = true,
                            .slots = qb__fdk_gpu_slabs(cut),
                            .gather = cut->blocks,
                            .maker = on_device(gpu, &gpu->slabs, slab),
                            .run = backproject_run};
    stages[3] = (qb__stage){.name = "download",
                            .self = gpu,
                            .blocking = true,
                            .slots = qb__fdk_gpu_slabs(cut),
                            .slot_bytes = slab,
                            .maker = page_locked(gpu, &gpu->down),
                            .run = download_run};
    return 4;
}

/* ---- life ---- */

static size_t scratch(void *state, const qb__cut *cut) {
    (void)cut;
    return qb__fdk_filter_scratch(((qb__fdk_gpu *)state)->fdk);
}

static qb_status open_device(void *state, const qb__cut *cut, const qb__running *run) {
    qb__fdk_gpu *gpu = state;
    const qb__bp_cone_device_variant *variant = qb__bp_cone_on_device(gpu->choice.variant);
    const qb__bp_cone_most most = qb__fdk_gpu_most(gpu, cut);
    const qb__bp_cone_problem *problem = &gpu->fdk->problem;
    const int *values = gpu->choice.values;
    qb_status status;
    gpu->run = run;
    if (!gpu->set.env) qb__compile_watch(&gpu->set, run->env);
    QB__TRY(qb__fdk_filter_open(&gpu->filter, gpu->fdk, run));
    QB__TRY(qb__queue_create(gpu->device, &gpu->up));
    QB__TRY(qb__queue_create(gpu->device, &gpu->compute));
    QB__TRY(qb__queue_create(gpu->device, &gpu->out));
    QB__TRY(variant->plan(gpu->device, problem, most, values, &gpu->plan));
    QB__TRY(qb__memory_create(gpu->device, variant->packed_bytes(problem, most, values), &gpu->packed));
out:
    return status;
}

static qb_status finish_device(void *state, cJSON *report, qb__prep_counts *counts) {
    (void)counts; /* the CPU prepared */
    qb__fdk_gpu *gpu = state;
    qb__compile_done(&gpu->set, report);
    if (report) qb__programs_note(gpu->device, gpu->choice.variant->id);
    return QB_OK;
}

static void close_device(void *state) {
    qb__fdk_gpu *gpu = state;
    qb__queue_destroy(gpu->up);
    qb__queue_destroy(gpu->compute);
    qb__queue_destroy(gpu->out);
    qb__bp_cone_on_device(gpu->choice.variant)->destroy(gpu->plan);
    qb__memory_destroy(gpu->packed);
    qb__fdk_filter_close(&gpu->filter);
    gpu->up = gpu->compute = gpu->out = NULL;
    gpu->plan = NULL;
    gpu->packed = NULL;
}

static void destroy(void *state) {
    qb__fdk_gpu *gpu = state;
    qb__device_set_close(&gpu->set);
    qb__free(gpu);
}

static double least(const qb_env *env) { return qb__device_least_start(env); }

static const char *kernel(void *state) { return ((qb__fdk_gpu *)state)->choice.variant->id; }

const qb__engine qb__fdk_device = {
    .name = "device",
    .place = "the device",
    .least = least,
    .decide = qb__fdk_gpu_decide,
    .slabs = qb__fdk_gpu_cut,
    .memory = qb__fdk_gpu_memory,
    .scratch = scratch,
    .seconds = qb__fdk_gpu_seconds,
    .start = qb__fdk_gpu_start,
    .no_room = qb__fdk_gpu_no_room,
    .tell = qb__fdk_gpu_tell,
    .stages = stages,
    .open = open_device,
    .finish = finish_device,
    .close = close_device,
    .describe = qb__fdk_gpu_describe,
    .kernel = kernel,
    .destroy = destroy,
};
