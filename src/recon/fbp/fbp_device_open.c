/* SPDX-License-Identifier: MIT */
/* Opens what devices hold while they run, closes it, and reports their findings. */
#include <stdint.h>
#include <stdio.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/status.h"
#include "planner/choose.h"
#include "recon/fbp/fbp_device.h"

/* Describe how raw numbers are prepared on the device; rows that the CPU has resampled are line integrals already. The
 * struct is filled where it stays, because its list of macros points into itself. */
static void describe_prep(const qb__fbp_devices *gpu, qb__device_prep *prep) {
    const qb__fbp *fbp = gpu->fbp;
    const qb__prep *steps = qb__prepare_steps(gpu->run->prepare);
    *prep = (qb__device_prep){.quantity = QB_LINE_INTEGRAL,
                              .dtype = QB_F32,
                              .views = fbp->info->views,
                              .weights = fbp->weights,
                              .rows = qb__prepare_rows_held(gpu->run->prepare),
                              .floor = steps->floor,
                              .share = fbp->share,
                              .view_share = fbp->view_share,
                              .columns = fbp->info->columns,
                              .before = fbp->fan.before};
    if (fbp->roll.maps) return;
    prep->quantity = steps->quantity;
    prep->dtype = steps->dtype;
    prep->air = steps->air;
    prep->dark = steps->dark;
    prep->gain = steps->gain;
    prep->most = steps->most;
    qb__prep_changes(steps, prep);
    qb__prep_define(steps, &prep->steps);
}

static qb_status open_filter(const qb__fbp_devices *gpu, qb__fbp_part *part) {
    qb__device_prep prep;
    qb__filter_spectrum spectrum;
    describe_prep(gpu, &prep);
    qb__filter_describe(gpu->fbp->filter, &spectrum);
    return qb__device_filter_create(part->device, &spectrum, &prep, QB__FILTER_AUTO, &part->pass.filter);
}

static qb_status open_pass(const qb__fbp_devices *gpu, qb__fbp_part *part, unsigned slices) {
    const qb__fbp *fbp = gpu->fbp;
    const qb__bp_parallel_device_variant *variant = qb__bp_parallel_on_device(gpu->pick.choice.variant);
    qb__device_pass *pass = &part->pass;
    size_t views = fbp->info->views, stride = qb__fbp_row_stride(fbp);
    part->problem = fbp->problem;
    pass->variant = variant;
    pass->views = views;
    pass->block = gpu->cut.views;
    pass->number_bytes = fbp->roll.maps ? sizeof(float) : qb_dtype_size(fbp->info->dtype);
    pass->rows.slice_stride = stride;
    if (gpu->measure) {
        QB__OR_RETURN(qb__alloc(slices, sizeof(float), &pass->largest));
        QB__OR_RETURN(qb__rows_largest_create(part->device, views, slices, fbp->width, &pass->measure));
        part->problem.largest = pass->largest;
    }
    QB__OR_RETURN(variant->plan(part->device, &part->problem, slices, gpu->pick.choice.values, &pass->plan));
    QB__OR_RETURN(open_filter(gpu, part));
    QB__OR_RETURN(
        qb__memory_create(part->device, gpu->cut.views * slices * stride * sizeof(float), &pass->rows.memory));
    return qb__memory_create(
        part->device,
        variant->packed_bytes(&part->problem, qb__variant_padded(&variant->head, slices), gpu->pick.choice.values),
        &pass->packed);
}

/* Open the correction of rows by their neighbours. The host corrects rows that are read ahead, or that have blanked
 * pixels. */
static qb_status open_near(const qb__fbp_devices *gpu, qb__fbp_part *part) {
    const qb__neighbours *neighbours = qb__prepare_neighbours(gpu->run->prepare);
    if (!gpu->near || !neighbours || gpu->fbp->reader.cache || gpu->fbp->scan->blank) return QB_OK;
    const qb__near_plan plan = qb__neighbours_plan(neighbours);
    QB__OR_RETURN(qb__near_rows_create(part->device, part->compute, &plan, &part->near));
    return qb__memory_create(part->device, gpu->cut.slices * qb__fbp_up_slice(gpu->fbp), &part->corrected);
}

static qb_status open_part(const qb__fbp_devices *gpu, qb__fbp_part *part) {
    size_t first, slices = qb__fbp_share(gpu, gpu->cut.slices, 0, &first);
    QB__OR_RETURN(qb__queue_create(part->device, &part->up));
    QB__OR_RETURN(qb__queue_create(part->device, &part->compute));
    QB__OR_RETURN(qb__queue_create(part->device, &part->down));
    QB__OR_RETURN(open_pass(gpu, part, (unsigned)slices));
    QB__OR_RETURN(open_near(gpu, part));
    return qb__down_open(&gpu->way_down, part->device, part->down, gpu->run->volume, slices, &part->convert);
}

qb_status qb__fbp_device_open(void *state, const qb__cut *cut, const qb__running *run) {
    qb__fbp_devices *gpu = state;
    qb_status status = QB_OK;
    gpu->run = run;
    gpu->cut = *cut;
    for (size_t p = 0; p < gpu->parts && status == QB_OK; p++) status = open_part(gpu, &gpu->part[p]);
    if (status == QB_OK)
        status = qb__device_arrays_attach(&gpu->arrays, qb__fbp_device_has(gpu), gpu->part[0].device, gpu->part[0].up,
                                          gpu->part[0].down, run);
    if (status == QB_OK && qb__fbp_device_keeps(gpu)) status = qb__phase_kept_of(gpu->fbp->scan, SIZE_MAX, &gpu->kept);
    qb__fbp_read_for(gpu->plan, gpu->arrays.from || gpu->kept.memory, gpu->part[0].near ? gpu->near : 0, gpu->parts);
    return status;
}

static void close_part(qb__fbp_part *part) {
    qb__device_pass *pass = &part->pass;
    qb__queue_destroy(part->up);
    qb__queue_destroy(part->compute);
    qb__queue_destroy(part->down);
    if (pass->plan) pass->variant->destroy(pass->plan);
    qb__device_filter_destroy(pass->filter);
    qb__rows_largest_destroy(pass->measure);
    QB__MEMORY_DESTROY(pass->rows.memory, pass->packed);
    qb__near_rows_destroy(part->near);
    qb__memory_destroy(part->corrected);
    qb__convert_destroy(part->convert);
    qb__free(pass->largest);
    *part = (qb__fbp_part){.device = part->device};
}

void qb__fbp_device_close(void *state) {
    qb__fbp_devices *gpu = state;
    qb__fbp_read_for(gpu->plan, false, 0, 1);
    qb__device_arrays_detach(&gpu->arrays, gpu->run);
    gpu->kept = (qb__phase_kept){.memory = NULL};
    for (size_t p = 0; p < gpu->parts; p++) close_part(&gpu->part[p]);
}

/* Text of the remedy: the option that keeps single precision on this device. It is the precision class, unless a kernel
 * was named, or this device uses scaled halves for that class, too. Then it is the kernel that always uses single
 * precision. */
static const char *remedy(const qb__fbp_devices *gpu, char *text, size_t size) {
    const qb__fbp *fbp = gpu->fbp;
    const qb__device_info *info = qb__device_info_of(gpu->part[0].device);
    qb__question question = gpu->pick.question;
    qb__choice high;
    question.accuracy = QB_ACCURACY_HIGH;
    if (!question.id && qb__choose(&question, &high) == QB_OK &&
        !qb__device_pass_measures(high.variant, info, &fbp->problem, high.values))
        return "--accuracy high";
    snprintf(text, size, "--kernel bp_parallel_%s.alu", qb_interp_name(question.interp));
    return text;
}

static void tell_faint(const qb__fbp_devices *gpu) {
    qb__rows_faint all = {0};
    char text[64];
    for (size_t p = 0; p < gpu->parts; p++) {
        const qb__rows_faint *faint = &gpu->part[p].pass.faint;
        all.rows += faint->rows;
        if (faint->largest > all.largest) all.largest = faint->largest;
    }
    if (all.rows)
        qb__warn(gpu->run->env,
                 "filtered values reach %g: %llu rows of the same slices are too small for half precision (a spike?); "
                 "give %s" QB__CODE("half-precision"),
                 (double)all.largest, (unsigned long long)all.rows, remedy(gpu, text, sizeof text));
}

static qb_status count(qb__fbp_devices *gpu, qb__prep_counts *counts) {
    const qb__fbp *fbp = gpu->fbp;
    for (size_t p = 0; p < gpu->parts; p++) {
        qb__fbp_part *part = &gpu->part[p];
        unsigned rounds = qb__device_pass_rounds(&part->pass);
        qb__device_filter_counts found;
        qb_status status = qb__device_filter_found(part->pass.filter, part->compute, &found);
        if (status == QB_OK) status = qb__down_count(part->convert, part->down, gpu->run->volume);
        uint64_t changed = 0;
        if (status == QB_OK && part->near) status = qb__near_rows_found(part->near, part->compute, &changed);
        if (status != QB_OK) return status;
        if (changed) qb__neighbours_count(qb__prepare_neighbours(gpu->run->prepare), changed, 0, false);
        counts->clamped += found.clamped / rounds;
        counts->not_finite += found.not_finite / rounds;
        counts->dead += found.dead / rounds;
        counts->saturated += found.saturated / rounds;
    }
    if (fbp->roll.maps == 0) counts->values += (uint64_t)fbp->info->views * fbp->info->columns * fbp->grid.n[2];
    return QB_OK;
}

qb_status qb__fbp_device_finish(void *state, cJSON *report, qb__prep_counts *counts) {
    qb__fbp_devices *gpu = state;
    (void)report;
    const qb_status status = count(gpu, counts);
    if (status == QB_OK) tell_faint(gpu);
    return status;
}
