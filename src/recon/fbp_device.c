/* SPDX-License-Identifier: MIT */
/* What a filtered back-projection on devices holds and does; decided in fbp_device_plan.c. */
#include "recon/fbp_device.h"

#include "base/log.h"
#include "base/memory.h"
#include "base/status.h"

static size_t raw_row_bytes(const qb__fbp *fbp) {
    return fbp->info->columns * qb_dtype_size(fbp->info->dtype);
}

static size_t pixels(const qb__fbp *fbp) {
    return fbp->grid.n[0] * fbp->grid.n[1];
}

/* Slices of a chunk that part p has, the first of them in *first. */
static size_t share(const qb__fbp *fbp, size_t slices, size_t p, size_t *first) {
    *first = qb__fbp_part_first(fbp, slices, p);
    return qb__fbp_part_first(fbp, slices, p + 1) - *first;
}

/* ---- stages ---- */

static qb_status upload_run(void *job, size_t chunk, size_t task, int worker, const void *in,
                            void *out) {
    (void)task, (void)worker, (void)out;
    qb__fbp *fbp = job;
    size_t slices = qb__fbp_chunk_slices(fbp, chunk), first;
    size_t slice_bytes = fbp->info->views * raw_row_bytes(fbp);
    qb_status status = QB_OK;
    for (size_t p = 0; p < fbp->parts && status == QB_OK; p++) {
        qb__fbp_part *part = &fbp->device->part[p];
        size_t n = share(fbp, slices, p, &first);
        if (n == 0) continue;
        status = qb__memory_upload(part->up, part->raw[chunk % fbp->partition.slots], 0,
                                   (const char *)in + first * slice_bytes, n * slice_bytes);
    }
    for (size_t p = 0; p < fbp->parts && status == QB_OK; p++)
        status = qb__queue_finish(fbp->device->part[p].up);
    return status;
}

/* Enqueue one part's chunk: blocks of views through the filter into the packed sinogram, then the
 * back-projection. */
static qb_status reconstruct_part(qb__fbp *fbp, qb__fbp_part *part, size_t slot, size_t first_slice,
                                  unsigned slices) {
    const qb__bp_parallel_device_variant *variant = fbp->device->choice.variant;
    size_t views = fbp->info->views, columns = fbp->info->columns, stride = qb__fbp_row_stride(fbp);
    qb__device_rows raw = {.memory = part->raw[slot],
                           .view_stride = columns * (fbp->step > 1 ? 1 : slices),
                           .slice_stride = columns * (fbp->step > 1 ? views : 1)};
    qb__device_rows rows = {part->rows, 0, slices * stride, stride};
    for (size_t view = 0; view < views; view += fbp->device->block) {
        size_t end = view + fbp->device->block < views ? view + fbp->device->block : views;
        raw.offset = view * raw.view_stride * qb_dtype_size(fbp->info->dtype);
        qb_status status = qb__device_filter_run(part->filter, part->compute, &raw, view, end, slices,
                                                 first_slice * fbp->step, fbp->step, &rows);
        if (status == QB_OK)
            status = variant->pack(part->plan, part->compute, part->rows, 0, rows.view_stride,
                                   rows.slice_stride, view, end, slices, part->packed);
        if (status != QB_OK) return status;
    }
    return variant->run(part->plan, part->compute, part->packed, slices, part->slab[slot], 0);
}

static qb_status reconstruct_run(void *job, size_t chunk, size_t task, int worker, const void *in,
                                 void *out) {
    (void)task, (void)worker, (void)in, (void)out;
    qb__fbp *fbp = job;
    size_t slices = qb__fbp_chunk_slices(fbp, chunk), first;
    size_t before = chunk * fbp->partition.slices_per_chunk;
    qb_status status = QB_OK;
    for (size_t p = 0; p < fbp->parts && status == QB_OK; p++) {
        size_t n = share(fbp, slices, p, &first);
        if (n)
            status = reconstruct_part(fbp, &fbp->device->part[p], chunk % fbp->partition.slots,
                                      before + first, (unsigned)n);
    }
    for (size_t p = 0; p < fbp->parts && status == QB_OK; p++)
        status = qb__queue_finish(fbp->device->part[p].compute);
    return status;
}

static qb_status download_run(void *job, size_t chunk, size_t task, int worker, const void *in,
                              void *out) {
    (void)task, (void)worker, (void)in;
    qb__fbp *fbp = job;
    size_t slices = qb__fbp_chunk_slices(fbp, chunk), first;
    size_t slice_bytes = pixels(fbp) * sizeof(float);
    qb_status status = QB_OK;
    for (size_t p = 0; p < fbp->parts && status == QB_OK; p++) {
        qb__fbp_part *part = &fbp->device->part[p];
        size_t n = share(fbp, slices, p, &first);
        if (n == 0) continue;
        status = qb__memory_download(part->down, part->slab[chunk % fbp->partition.slots], 0,
                                     (char *)out + first * slice_bytes, n * slice_bytes);
    }
    for (size_t p = 0; p < fbp->parts && status == QB_OK; p++)
        status = qb__queue_finish(fbp->device->part[p].down);
    return status;
}

qb_status qb__fbp_device_ring(void *job, size_t bytes, void **ring) {
    qb__fbp *fbp = job;
    return qb__host_create(fbp->device->part[0].device, bytes, ring);
}

void qb__fbp_device_free_ring(void *job, void *ring) {
    qb__fbp *fbp = job;
    qb__host_destroy(fbp->device->part[0].device, ring);
}

/* The device stages hand over memory that stays on the device: their rings only count. */
int qb__fbp_device_stages(const qb__fbp *fbp, size_t slices, unsigned slots, qb__stage *stages) {
    enum { COUNTER_BYTES = 64 };
    int n = 0;
    stages[n++] = (qb__stage){.name = "upload",
                              .blocking = true,
                              .slots = slots,
                              .slot_bytes = COUNTER_BYTES,
                              .run = upload_run};
    stages[n++] = (qb__stage){.name = "reconstruct",
                              .blocking = true,
                              .slots = slots,
                              .slot_bytes = COUNTER_BYTES,
                              .run = reconstruct_run};
    stages[n++] = (qb__stage){.name = "download",
                              .blocking = true,
                              .slots = slots,
                              .slot_bytes = slices * pixels(fbp) * sizeof(float),
                              .run = download_run,
                              .create = qb__fbp_device_ring,
                              .destroy = qb__fbp_device_free_ring};
    return n;
}

/* ---- what it holds ---- */

static void close_part(const qb__fbp *fbp, qb__fbp_part *part) {
    qb__queue_destroy(part->up);
    qb__queue_destroy(part->compute);
    qb__queue_destroy(part->down);
    if (part->plan) fbp->device->choice.variant->destroy(part->plan);
    qb__device_filter_destroy(part->filter);
    for (int i = 0; i < QB__FBP_SLOTS; i++) {
        qb__memory_destroy(part->raw[i]);
        qb__memory_destroy(part->slab[i]);
    }
    qb__memory_destroy(part->rows);
    qb__memory_destroy(part->packed);
    *part = (qb__fbp_part){.device = part->device};
}

static qb_status open_filter(const qb__fbp *fbp, qb__fbp_part *part) {
    const qb__prep *steps = qb__prepare_steps(fbp->prepare);
    qb__device_prep prep = {.quantity = steps->quantity,
                            .dtype = steps->dtype,
                            .views = fbp->info->views,
                            .weights = fbp->weights,
                            .air = steps->air,
                            .rows = qb__prepare_rows_held(fbp->prepare),
                            .dark = steps->dark,
                            .gain = steps->gain,
                            .floor = steps->floor};
    qb__filter_spectrum spectrum;
    qb__filter_describe(fbp->filter, &spectrum);
    return qb__device_filter_create(part->device, &spectrum, &prep, QB__FILTER_AUTO, &part->filter);
}

static qb_status open_part(qb__fbp *fbp, qb__fbp_part *part) {
    const qb__fbp_device *gpu = fbp->device;
    const qb__bp_parallel_device_variant *variant = gpu->choice.variant;
    size_t first, slices = share(fbp, fbp->partition.slices_per_chunk, 0, &first);
    size_t views = fbp->info->views;
    qb_status status;
    QB__TRY(qb__queue_create(part->device, &part->up));
    QB__TRY(qb__queue_create(part->device, &part->compute));
    QB__TRY(qb__queue_create(part->device, &part->down));
    QB__TRY(variant->plan(part->device, &fbp->problem, (unsigned)slices, gpu->choice.values,
                          &part->plan));
    QB__TRY(open_filter(fbp, part));
    for (unsigned i = 0; i < fbp->partition.slots && i < QB__FBP_SLOTS; i++) {
        QB__TRY(
            qb__memory_create(part->device, slices * views * raw_row_bytes(fbp), &part->raw[i]));
        QB__TRY(
            qb__memory_create(part->device, slices * pixels(fbp) * sizeof(float), &part->slab[i]));
    }
    QB__TRY(qb__memory_create(
        part->device, gpu->block * slices * qb__fbp_row_stride(fbp) * sizeof(float), &part->rows));
    QB__TRY(
        qb__memory_create(part->device,
                          variant->packed_bytes(&fbp->problem, qb__device_padded(variant, slices),
                                                gpu->choice.values),
                          &part->packed));
out:
    return status;
}

static qb_status open_parts(qb__fbp *fbp) {
    qb_status status = QB_OK;
    for (size_t p = 0; p < fbp->parts && status == QB_OK; p++)
        status = open_part(fbp, &fbp->device->part[p]);
    if (status != QB_OK) qb__fbp_device_close(fbp);
    return status;
}

qb_status qb__fbp_device_open(qb__fbp *fbp, const qb_env *env) {
    qb_status status = open_parts(fbp);
    while (status == QB_NO_MEMORY && fbp->partition.slices_per_chunk > fbp->parts) {
        size_t slices = (fbp->partition.slices_per_chunk + 1) / 2;
        qb__warn(env, "the device has no room for %zu slices at a time (%s); now with %zu",
                 fbp->partition.slices_per_chunk, qb_detail(), slices);
        fbp->partition.slices_per_chunk = slices;
        fbp->partition.chunks = (fbp->grid.n[2] + slices - 1) / slices;
        status = open_parts(fbp);
    }
    return status;
}

void qb__fbp_device_close(qb__fbp *fbp) {
    if (!fbp->device) return;
    for (size_t p = 0; p < fbp->parts; p++) close_part(fbp, &fbp->device->part[p]);
}

void qb__fbp_device_destroy(qb__fbp *fbp) {
    if (!fbp->device) return;
    qb__fbp_device_close(fbp);
    qb__device_set_close(&fbp->device->set);
    qb__free(fbp->device);
    fbp->device = NULL;
}

qb_status qb__fbp_device_counts(qb__fbp *fbp, qb__prep_counts *counts) {
    qb_status status = QB_OK;
    for (size_t p = 0; p < fbp->parts && status == QB_OK; p++) {
        qb__fbp_part *part = &fbp->device->part[p];
        qb__device_filter_counts found;
        status = qb__device_filter_found(part->filter, part->compute, &found);
        if (status != QB_OK) return status;
        counts->clamped += found.clamped;
        counts->not_finite += found.not_finite;
        counts->dead += found.dead;
    }
    counts->values += (uint64_t)fbp->info->views * fbp->info->columns * fbp->grid.n[2];
    return status;
}
