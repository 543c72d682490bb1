/* SPDX-License-Identifier: MIT */
/* What a filtered back-projection on devices holds and does; decided in fbp_device_plan.c. */
#include "recon/fbp/fbp_device.h"

#include <stdio.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/status.h"
#include "planner/backproject.h"

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

enum { UP, COMPUTE, DOWN };

/* Wait for the queue of every part, after a failure as well: what is still on its way uses buffers
 * that are about to go. The first failure's words stay. */
static qb_status finish(const qb__fbp *fbp, qb_status status, int which) {
    char said[1024];
    if (status != QB_OK) snprintf(said, sizeof said, "%s", qb_detail());
    for (size_t p = 0; p < fbp->parts; p++) {
        const qb__fbp_part *part = &fbp->device->part[p];
        qb__queue *const queues[] = {[UP] = part->up, [COMPUTE] = part->compute, [DOWN] = part->down};
        qb_status done = qb__queue_finish(queues[which]);
        if (status != QB_OK || done == QB_OK) continue;
        status = done;
        snprintf(said, sizeof said, "%s", qb_detail());
    }
    return status == QB_OK ? QB_OK : qb__fail(status, "%s", said);
}

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
    return finish(fbp, status, UP);
}

/* What a part has to do of a chunk. */
typedef struct work {
    qb__fbp_part *part;
    qb__device_rows raw;
    unsigned slices; /* 0 = nothing */
    size_t row0;
} work;

static work work_of(const qb__fbp *fbp, size_t chunk, size_t p) {
    size_t slot = chunk % fbp->partition.slots, columns = fbp->info->columns, first;
    size_t slices = share(fbp, qb__fbp_chunk_slices(fbp, chunk), p, &first);
    qb__fbp_part *part = &fbp->device->part[p];
    return (work){.part = part,
                  .raw = {.memory = part->raw[slot],
                          .view_stride = columns * (fbp->step > 1 ? 1 : slices),
                          .slice_stride = columns * (fbp->step > 1 ? fbp->info->views : 1)},
                  .slices = (unsigned)slices,
                  .row0 = (chunk * fbp->partition.slices_per_chunk + first) * fbp->step};
}

/* Filtering that only measures is under way on all devices before anyone waits for what it finds.
 */
static qb_status reconstruct_run(void *job, size_t chunk, size_t task, int worker, const void *in,
                                 void *out) {
    (void)task, (void)worker, (void)in, (void)out;
    qb__fbp *fbp = job;
    const qb__bp_parallel_device_variant *variant = fbp->device->choice.variant;
    qb_status status = QB_OK;
    for (size_t p = 0; p < fbp->parts && status == QB_OK; p++) {
        work w = work_of(fbp, chunk, p);
        if (w.slices)
            status = qb__device_pass_prepare(&w.part->pass, w.part->compute, &w.raw, w.slices,
                                             w.row0, fbp->step);
    }
    for (size_t p = 0; p < fbp->parts && status == QB_OK; p++) {
        work w = work_of(fbp, chunk, p);
        if (w.slices == 0) continue;
        status = qb__device_pass_pack(&w.part->pass, w.part->compute, &w.raw, w.slices, w.row0,
                                      fbp->step);
        if (status == QB_OK)
            status = variant->run(w.part->pass.plan, w.part->compute, w.part->pass.packed, w.slices,
                                  w.part->slab[chunk % fbp->partition.slots], 0);
    }
    return finish(fbp, status, COMPUTE);
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
    return finish(fbp, status, DOWN);
}

/* Where no more memory can be page-locked, transfers are slower and results the same. */
qb_status qb__fbp_device_ring(void *job, size_t bytes, void **ring) {
    qb__fbp *fbp = job;
    qb__fbp_device *gpu = fbp->device;
    qb_status status = qb__host_create(gpu->part[0].device, bytes, ring);
    if (status != QB_NO_MEMORY) return status;
    qb__warn(gpu->env, "transfers are slower: %s", qb_detail());
    status = qb__alloc(bytes, 1, ring);
    gpu->plain[gpu->plain[0] != NULL] = *ring;
    return status;
}

void qb__fbp_device_free_ring(void *job, void *ring) {
    qb__fbp *fbp = job;
    qb__fbp_device *gpu = fbp->device;
    void **plain = gpu->plain[0] == ring ? &gpu->plain[0] : &gpu->plain[1];
    if (*plain != ring) {
        qb__host_destroy(gpu->part[0].device, ring);
        return;
    }
    qb__free(ring);
    *plain = NULL;
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
    qb__device_pass *pass = &part->pass;
    qb__queue_destroy(part->up);
    qb__queue_destroy(part->compute);
    qb__queue_destroy(part->down);
    if (pass->plan) fbp->device->choice.variant->destroy(pass->plan);
    qb__device_filter_destroy(pass->filter);
    qb__rows_largest_destroy(pass->measure);
    for (int i = 0; i < QB__FBP_SLOTS; i++) {
        qb__memory_destroy(part->raw[i]);
        qb__memory_destroy(part->slab[i]);
    }
    qb__memory_destroy(pass->rows.memory);
    qb__memory_destroy(pass->packed);
    qb__free(pass->largest);
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
                            .floor = steps->floor,
                            .share = fbp->share,
                            .columns = fbp->info->columns,
                            .before = fbp->fan.before};
    qb__filter_spectrum spectrum;
    qb__prep_define(steps, &prep.steps);
    qb__filter_describe(fbp->filter, &spectrum);
    return qb__device_filter_create(part->device, &spectrum, &prep, QB__FILTER_AUTO,
                                    &part->pass.filter);
}

static qb_status open_pass(const qb__fbp *fbp, qb__fbp_part *part, unsigned slices) {
    const qb__fbp_device *gpu = fbp->device;
    const qb__bp_parallel_device_variant *variant = gpu->choice.variant;
    qb__device_pass *pass = &part->pass;
    size_t views = fbp->info->views, stride = qb__fbp_row_stride(fbp);
    qb_status status;
    part->problem = fbp->problem;
    pass->variant = variant;
    pass->views = views;
    pass->block = gpu->block;
    pass->number_bytes = qb_dtype_size(fbp->info->dtype);
    pass->rows.slice_stride = stride;
    if (gpu->measure) {
        QB__TRY(qb__alloc(slices, sizeof(float), &pass->largest));
        QB__TRY(qb__rows_largest_create(part->device, views, slices, fbp->width,
                                        &pass->measure));
        part->problem.largest = pass->largest;
    }
    QB__TRY(variant->plan(part->device, &part->problem, slices, gpu->choice.values, &pass->plan));
    QB__TRY(open_filter(fbp, part));
    QB__TRY(qb__memory_create(part->device, gpu->block * slices * stride * sizeof(float),
                              &pass->rows.memory));
    QB__TRY(
        qb__memory_create(part->device,
                          variant->packed_bytes(&part->problem, qb__device_padded(variant, slices),
                                                gpu->choice.values),
                          &pass->packed));
out:
    return status;
}

static qb_status open_part(qb__fbp *fbp, qb__fbp_part *part) {
    size_t first, slices = share(fbp, fbp->partition.slices_per_chunk, 0, &first);
    qb_status status;
    QB__TRY(qb__queue_create(part->device, &part->up));
    QB__TRY(qb__queue_create(part->device, &part->compute));
    QB__TRY(qb__queue_create(part->device, &part->down));
    QB__TRY(open_pass(fbp, part, (unsigned)slices));
    for (unsigned i = 0; i < fbp->partition.slots && i < QB__FBP_SLOTS; i++) {
        QB__TRY(qb__memory_create(part->device, slices * fbp->info->views * raw_row_bytes(fbp),
                                  &part->raw[i]));
        QB__TRY(
            qb__memory_create(part->device, slices * pixels(fbp) * sizeof(float), &part->slab[i]));
    }
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

/* Rows read ahead are whole chunks, or all there are (fbp_stages.c). */
static void fit_cache(qb__fbp *fbp) {
    size_t chunk = fbp->partition.slices_per_chunk * fbp->step;
    size_t all = (fbp->grid.n[2] - 1) * fbp->step + 1;
    if (fbp->cache_rows < all) fbp->cache_rows -= fbp->cache_rows % chunk;
}

static void fewer_slices(qb__fbp *fbp) {
    qb__partition *now = &fbp->partition;
    now->slices_per_chunk = (now->slices_per_chunk + 1) / 2;
    now->chunks = (fbp->grid.n[2] + now->slices_per_chunk - 1) / now->slices_per_chunk;
    fit_cache(fbp);
}

/* Less at a time: slices, then buffers, then views filtered. False when nothing is left to take away. */
static bool shrink(qb__fbp *fbp, const qb_env *env) {
    qb__partition *now = &fbp->partition;
    size_t slices = now->slices_per_chunk, *views = &fbp->device->block;
    if (slices > fbp->parts) {
        fewer_slices(fbp);
        qb__warn(env, "the device has no room for %zu slices at a time (%s); now with %zu", slices,
                 qb_detail(), now->slices_per_chunk);
    } else if (now->slots > 1) {
        now->slots = 1;
        qb__warn(env, "the device has no room for two buffers (%s); now with one", qb_detail());
    } else if (*views > 1) {
        *views = (*views + 1) / 2;
        qb__warn(env, "the device has no room for so many views at a time (%s); now with %zu",
                 qb_detail(), *views);
    } else {
        return false;
    }
    return true;
}

qb_status qb__fbp_device_open(qb__fbp *fbp, const qb_env *env) {
    fbp->device->env = env;
    qb_status status = open_parts(fbp);
    while (status == QB_NO_MEMORY && shrink(fbp, env)) {
        fbp->device->less = true;
        status = open_parts(fbp);
    }
    return status == QB_NO_MEMORY ? qb__fbp_device_leave(fbp, env) : status;
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

/* What keeps single precision: a class, unless a kernel was named or this device serves the class
 * with scaled halves, too; then the kernel that always does. */
static const char *remedy(const qb__fbp *fbp, char *text, size_t size) {
    const qb__fbp_device *gpu = fbp->device;
    const qb__device_info *info = qb__device_info_of(gpu->part[0].device);
    const qb_interp interp = fbp->options.interp;
    qb__device_choice high;
    if (!fbp->options.kernel &&
        qb__device_choose(info, &gpu->problem, fbp->grid.n[2], interp, QB_ACCURACY_HIGH, NULL,
                          &high) == QB_OK &&
        !qb__device_pass_measures(high.variant, info, &fbp->problem, high.values))
        return "--accuracy high";
    snprintf(text, size, "--kernel bp_parallel_%s.alu", qb_interp_name(interp));
    return text;
}

static void tell_faint(const qb__fbp *fbp, const qb_env *env) {
    qb__rows_faint all = {0};
    char text[64];
    for (size_t p = 0; p < fbp->parts; p++) {
        const qb__rows_faint *faint = &fbp->device->part[p].pass.faint;
        all.rows += faint->rows;
        if (faint->largest > all.largest) all.largest = faint->largest;
    }
    if (all.rows)
        qb__warn(env,
                 "filtered values up to %g: beside them %llu rows of the same slices are too small "
                 "for half precision, which scales by slices (a spike in the data?); %s keeps them",
                 (double)all.largest, (unsigned long long)all.rows, remedy(fbp, text, sizeof text));
}

qb_status qb__fbp_device_counts(qb__fbp *fbp, const qb_env *env, qb__prep_counts *counts) {
    for (size_t p = 0; p < fbp->parts; p++) {
        qb__fbp_part *part = &fbp->device->part[p];
        unsigned rounds = qb__device_pass_rounds(&part->pass);
        qb__device_filter_counts found;
        qb_status status = qb__device_filter_found(part->pass.filter, part->compute, &found);
        if (status != QB_OK) return status;
        counts->clamped += found.clamped / rounds;
        counts->not_finite += found.not_finite / rounds;
        counts->dead += found.dead / rounds;
    }
    counts->values += (uint64_t)fbp->info->views * fbp->info->columns * fbp->grid.n[2];
    tell_faint(fbp, env);
    return QB_OK;
}
