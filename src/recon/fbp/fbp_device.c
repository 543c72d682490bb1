/* SPDX-License-Identifier: MIT */
/* The stages in which devices process a chunk, and their slots. */
#include "recon/fbp/fbp_device.h"

#include <stdio.h>

#include "base/memory.h"
#include "base/status.h"

size_t qb__fbp_share(const qb__fbp_devices *gpu, size_t slices, size_t p, size_t *first) {
    *first = qb__fbp_part_first(slices, gpu->parts, p);
    return qb__fbp_part_first(slices, gpu->parts, p + 1) - *first;
}

/* ---- stages ---- */

enum { UP, COMPUTE, DOWN };

/* Wait for the queue of every part, also after a failure, because running transfers use buffers that will be released.
 * The message of the first failure is kept. */
static qb_status finish(const qb__fbp_devices *gpu, qb_status status, int which) {
    char said[1024];
    if (status != QB_OK) snprintf(said, sizeof said, "%s", qb_detail());
    for (size_t p = 0; p < gpu->parts; p++) {
        const qb__fbp_part *part = &gpu->part[p];
        qb__queue *const queues[] = {[UP] = part->up, [COMPUTE] = part->compute, [DOWN] = part->down};
        qb_status done = qb__queue_finish(queues[which]);
        if (status != QB_OK || done == QB_OK) continue;
        status = done;
        snprintf(said, sizeof said, "%s", qb_detail());
    }
    return status == QB_OK ? QB_OK : qb__fail(status, "%s", said);
}

static qb_status upload_run(void *self, size_t chunk, size_t task, int worker, const void *in, void *out) {
    (void)task, (void)worker;
    qb__fbp_devices *gpu = self;
    const qb__fbp_slot *raw = out;
    if (gpu->kept.memory) return QB_OK;
    if (gpu->arrays.from) return finish(gpu, qb__fbp_device_take(gpu, chunk, raw->memory[0]), UP);
    size_t slices = qb__fbp_chunk_slices(gpu->fbp, chunk), first, end;
    size_t slice_bytes = qb__fbp_up_slice(gpu->fbp);
    qb_status status = QB_OK;
    if (gpu->part[0].near) {
        qb__fbp_read_window(gpu->fbp, chunk, &first, &end);
        return finish(gpu, qb__memory_upload(gpu->part[0].up, raw->memory[0], 0, in, (end - first) * slice_bytes), UP);
    }
    for (size_t p = 0; p < gpu->parts && status == QB_OK; p++) {
        size_t n = qb__fbp_share(gpu, slices, p, &first);
        if (n == 0) continue;
        status = qb__memory_upload(gpu->part[p].up, raw->memory[p], 0, (const char *)in + first * slice_bytes,
                                   n * slice_bytes);
    }
    return finish(gpu, status, UP);
}

/* The work of a part of a chunk. */
typedef struct work {
    qb__fbp_part *part;
    qb__device_rows raw;
    unsigned slices; /* 0 = this part has no slice of the chunk */
    size_t row0;
} work;

static work work_of(qb__fbp_devices *gpu, size_t chunk, size_t p, const qb__fbp_slot *raw) {
    const qb__fbp *fbp = gpu->fbp;
    size_t columns = fbp->info->columns, first;
    size_t slices = qb__fbp_share(gpu, qb__fbp_chunk_slices(fbp, chunk), p, &first);
    const bool by_slices = fbp->step > 1 || fbp->roll.maps; /* the layout is [slice][view][column] */
    if (gpu->kept.memory) {
        const size_t row = qb__fbp_chunk_row(fbp, chunk);
        return (work){.part = &gpu->part[p],
                      .raw = qb__phase_kept_rows(&gpu->kept, row, columns),
                      .slices = (unsigned)slices,
                      .row0 = row - qb__prepare_first_row(gpu->run->prepare)};
    }
    return (work){.part = &gpu->part[p],
                  .raw = {.memory = gpu->part[p].near ? gpu->part[p].corrected : raw->memory[p],
                          .view_stride = columns * (by_slices ? 1 : slices),
                          .slice_stride = columns * (by_slices ? fbp->info->views : 1)},
                  .slices = (unsigned)slices,
                  .row0 = qb__fbp_chunk_row(fbp, chunk) - qb__prepare_first_row(gpu->run->prepare) + first * fbp->step};
}

/* Correct the rows of a chunk by their neighbours, with the rows above and below that were uploaded with it. */
static qb_status correct(const qb__fbp_devices *gpu, size_t chunk, const qb__fbp_slot *raw) {
    const qb__fbp *fbp = gpu->fbp;
    const qb__fbp_part *part = &gpu->part[0];
    qb__near_block block = {
        .views = fbp->info->views, .row0 = qb__fbp_chunk_row(fbp, chunk), .slices = qb__fbp_chunk_slices(fbp, chunk)};
    if (!part->near) return QB_OK;
    qb__fbp_read_window(fbp, chunk, &block.first, &block.end);
    qb__neighbours_count(qb__prepare_neighbours(gpu->run->prepare), 0, block.views * block.slices * fbp->info->columns,
                         false);
    return qb__near_rows_run(part->near, part->compute, &block, raw->memory[0], part->corrected);
}

/* The filtering that only measures the largest values runs on all devices before the first result is waited for. */
static qb_status reconstruct_run(void *self, size_t chunk, size_t task, int worker, const void *in, void *out) {
    (void)task, (void)worker;
    qb__fbp_devices *gpu = self;
    const qb__bp_parallel_device_variant *variant = qb__bp_parallel_on_device(gpu->pick.choice.variant);
    const qb__fbp_slot *slab = out;
    const size_t step = gpu->fbp->step;
    qb_status status = correct(gpu, chunk, in);
    for (size_t p = 0; p < gpu->parts && status == QB_OK; p++) {
        work w = work_of(gpu, chunk, p, in);
        if (w.slices) status = qb__device_pass_prepare(&w.part->pass, w.part->compute, &w.raw, w.slices, w.row0, step);
    }
    for (size_t p = 0; p < gpu->parts && status == QB_OK; p++) {
        work w = work_of(gpu, chunk, p, in);
        if (w.slices == 0) continue;
        status = qb__device_pass_pack(&w.part->pass, w.part->compute, &w.raw, w.slices, w.row0, step);
        if (status == QB_OK)
            status =
                variant->run(w.part->pass.plan, w.part->compute, w.part->pass.packed, w.slices, slab->memory[p], 0);
    }
    return finish(gpu, status, COMPUTE);
}

static qb_status download_run(void *self, size_t chunk, size_t task, int worker, const void *in, void *out) {
    (void)task, (void)worker;
    qb__fbp_devices *gpu = self;
    const qb__fbp_slot *slab = in;
    size_t slices = qb__fbp_chunk_slices(gpu->fbp, chunk), first = chunk * gpu->fbp->reader.cut.slices;
    if (gpu->arrays.to)
        return finish(
            gpu,
            qb__device_arrays_put(&gpu->arrays, gpu->part[0].down, slab->memory[0], 0, first, slices, gpu->fbp->grid.n),
            DOWN);
    size_t slice_bytes = qb__down_host(&gpu->way_down, 1);
    qb_status status = QB_OK;
    for (size_t p = 0; p < gpu->parts && status == QB_OK; p++) {
        size_t n = qb__fbp_share(gpu, slices, p, &first);
        if (n == 0) continue;
        status = qb__down_run(&gpu->way_down, gpu->part[p].convert, gpu->part[p].down, slab->memory[p], n, 0, n,
                              (char *)out + first * slice_bytes);
    }
    return finish(gpu, status, DOWN);
}

/* ---- slots ---- */

static void destroy_slot(void *self, void *slot) {
    const qb__fbp_ring *ring = self;
    qb__fbp_slot *memory = slot;
    for (size_t p = 0; memory && p < ring->gpu->parts; p++) qb__memory_destroy(memory->memory[p]);
    qb__free(memory);
}

static qb_status create_slot(void *self, size_t bytes, void **out) {
    (void)bytes; /* the slots use no host memory */
    const qb__fbp_ring *ring = self;
    const qb__fbp_devices *gpu = ring->gpu;
    qb__fbp_slot *slot;
    size_t first, slices = qb__fbp_share(gpu, gpu->cut.slices, 0, &first);
    qb_status status = qb__alloc(1, sizeof *slot, &slot);
    for (size_t p = 0; status == QB_OK && p < gpu->parts; p++)
        status = qb__memory_create(gpu->part[p].device, (slices + ring->more) * ring->slice_bytes, &slot->memory[p]);
    *out = slot;
    return status;
}

static qb__slot_maker on_devices(qb__fbp_devices *gpu, int number, size_t slice_bytes, size_t more) {
    qb__fbp_ring *ring = &gpu->ring[number];
    ring->gpu = gpu;
    ring->slice_bytes = slice_bytes;
    ring->more = more;
    return (qb__slot_maker){ring, create_slot, destroy_slot};
}

static qb__slot_maker page_locked(qb__fbp_devices *gpu, int number) {
    qb__locked_ring *ring = &gpu->ring[number].host;
    ring->device = gpu->part[0].device;
    ring->env = gpu->run ? gpu->run->env : NULL;
    return qb__locked_slots(ring);
}

static int stages(void *state, const qb__cut *cut, qb__slot_maker *source, qb__stage *stages) {
    qb__fbp_devices *gpu = state;
    const size_t up = qb__fbp_up_slice(gpu->fbp), slab = qb__fbp_slab_slice(gpu->fbp);
    const qb__slot_maker host =
        gpu->arrays.from || gpu->kept.memory ? qb__token_slots : page_locked(gpu, QB__RING_READ);
    int count = 0;
    if (gpu->fbp->roll.maps)
        stages[count++] = qb__fbp_device_roll(gpu, cut, host);
    else
        *source = host;
    stages[count++] =
        (qb__stage){.name = "upload",
                    .self = gpu,
                    .blocking = true,
                    .slots = cut->slots,
                    .maker = gpu->kept.memory ? qb__token_slots : on_devices(gpu, QB__RING_RAW, up, 2 * gpu->near),
                    .run = upload_run};
    stages[count++] = (qb__stage){.name = "reconstruct",
                                  .self = gpu,
                                  .blocking = true,
                                  .slots = cut->slots,
                                  .maker = on_devices(gpu, QB__RING_SLABS, slab, 0),
                                  .run = reconstruct_run};
    stages[count++] = (qb__stage){.name = "download",
                                  .self = gpu,
                                  .blocking = true,
                                  .slots = cut->slots,
                                  .slot_bytes = gpu->arrays.to ? 1 : qb__down_host(&gpu->way_down, cut->slices),
                                  .maker = gpu->arrays.to ? qb__token_slots : page_locked(gpu, QB__RING_DOWN),
                                  .run = download_run};
    qb__fbp_device_forecast(gpu, cut, stages + count - 3);
    return count;
}

/* ---- the row ---- */

const qb__engine qb__fbp_device = {
    .on_device = true,
    .decide = qb__fbp_device_decide,
    .memory = qb__fbp_device_memory,
    .seconds = qb__fbp_device_seconds,
    .stages = stages,
    .open = qb__fbp_device_open,
    .finish = qb__fbp_device_finish,
    .close = qb__fbp_device_close,
    .facts = qb__fbp_device_facts,
    .destroy = qb__free,
};
