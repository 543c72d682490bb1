/* SPDX-License-Identifier: MIT */
/* Choice of device, kernel and chunks for a filtered back-projection. */
#include <math.h>
#include <stdio.h>

#include "base/comm.h"
#include "base/memory.h"
#include "base/status.h"
#include "io/scan/scan.h"
#include "planner/choose.h"
#include "recon/fbp/fbp_device.h"

enum {
    RING_BYTES = 1 << 30, /* largest page-locked memory of a buffer, because locking takes time */
    /* bytes of rows filtered at a time: about as much as stays in the L2 cache between two kernels */
    BLOCK_BYTES = 64 << 20,
};

/* Choose the kernel as if the largest filtered values were known. If they are unknown, they are measured during the
 * run, at most by filtering again, which costs little compared with the gain of half precision. A known bound may be
 * loose: scaled to 2^12, half floats keep their 11 bits down to 2^-26 of the bound. Smaller values of counts and
 * transmissions come from transmissions so near 1 that their own rounding to float is the larger error, so measuring
 * would not help. */
static qb_status choose(qb__fbp_devices *gpu) {
    static const float some = 1;
    const qb__fbp *fbp = gpu->fbp;
    qb__question question = qb__fbp_question(fbp);
    gpu->problem = fbp->problem;
    if (!gpu->problem.largest) gpu->problem.largest = &some; /* the planner only tests whether it is NULL */
    question.problem = &gpu->problem;
    QB__OR_RETURN(qb__device_pick_choose(&gpu->pick, &question));
    gpu->measure = qb__device_pass_measures(gpu->pick.choice.variant, gpu->pick.question.device, &fbp->problem,
                                            gpu->pick.choice.values);
    return QB_OK;
}

static size_t filter_bytes(const qb__fbp_devices *gpu) {
    const qb__fbp *fbp = gpu->fbp;
    qb__filter_spectrum spectrum;
    size_t rows = (fbp->grid.n[2] - 1) * fbp->step + 1; /* detector rows that the correction fields hold */
    qb__filter_describe(fbp->filter, &spectrum);
    return qb__device_filter_forecast(qb__device_info_of(gpu->part[0].device), &spectrum, QB__FILTER_AUTO,
                                      fbp->info->views, rows, qb__scan_modes(fbp->scan)) +
           (fbp->view_share ? fbp->info->views * fbp->info->columns * sizeof(float) : 0);
}

/* Bytes to measure the largest values: on the device, and the same on the host. */
static size_t measure_bytes(const qb__fbp_devices *gpu, size_t slices) {
    return gpu->measure ? qb__rows_largest_bytes(gpu->fbp->info->views, (unsigned)slices) : 0;
}

/* Bytes of the back-projection's tables and of a packed pass. */
static size_t kernel_bytes(const qb__fbp_devices *gpu, size_t slices) {
    const qb__choice *choice = &gpu->pick.choice;
    const qb__bp_parallel_problem *problem = &gpu->fbp->problem;
    const unsigned padded = qb__variant_padded(choice->variant, slices);
    const qb__bp_parallel_device_variant *variant = qb__bp_parallel_on_device(choice->variant);
    return variant->plan_bytes(gpu->part[0].device, problem, padded, choice->values) +
           variant->packed_bytes(problem, padded, choice->values);
}

/* Number of slices of a chunk that one device computes. */
static size_t slices_of(const qb__fbp_devices *gpu, const qb__cut *cut) {
    return qb__ceil_div(cut->slices, gpu->parts);
}

static size_t device_bytes(const qb__fbp_devices *gpu, const qb__cut *cut) {
    const qb__fbp *fbp = gpu->fbp;
    const size_t slices = slices_of(gpu, cut), up = qb__fbp_up_slice(fbp);
    const size_t near = gpu->near ? (slices + 2 * gpu->near * cut->slots) * up +
                                        qb__near_rows_bytes(fbp->info->rows, fbp->info->columns)
                                  : 0;
    return near + slices * cut->slots * (qb__fbp_up_slice(fbp) + qb__fbp_slab_slice(fbp)) + filter_bytes(gpu) +
           kernel_bytes(gpu, slices) + cut->views * slices * qb__fbp_row_stride(fbp) * sizeof(float) +
           measure_bytes(gpu, slices) + qb__down_device(&gpu->way_down, slices);
}

/* Memory of a cut. A device that computes in the host's memory needs its share there, too. */
qb__room qb__fbp_device_memory(void *state, const qb__cut *cut) {
    const qb__fbp_devices *gpu = state;
    qb__room room = {.scratch = qb__fbp_device_scratch(gpu, cut),
                     .host = measure_bytes(gpu, cut->slices) + cut->slices * sizeof(float) +
                             qb__down_open_bytes(&gpu->way_down),
                     .device = device_bytes(gpu, cut)};
    room.host += qb__device_pick_host_bytes(&gpu->pick, gpu->parts * room.device);
    return room;
}

/* The largest useful number of slices of a chunk: there are a few chunks so that stages overlap, no ring exceeds its
 * share of page-locked memory, and no pass exceeds what the kernel can process. */
static size_t most_slices(const qb__fbp_devices *gpu) {
    const qb__fbp *fbp = gpu->fbp;
    const qb__variant *variant = gpu->pick.choice.variant;
    size_t step = variant->step ? variant->step : 1;
    size_t slab = qb__fbp_slab_slice(fbp), raw = qb__fbp_up_slice(fbp);
    size_t each = qb__ceil_div(fbp->grid.n[2], gpu->parts);
    size_t most = qb__ceil_div(qb__ceil_div(each, 4), step) * step;
    size_t ring = RING_BYTES / gpu->parts / (slab > raw ? slab : raw);
    if (most > ring) most = ring / step * step;
    if (most < step) most = step;
    if (variant->most && most > variant->most) most = variant->most;
    return most < each ? most : each;
}

/* ---- cuts ---- */

/* Number of views that are filtered at a time. */
static size_t block_views(const qb__fbp *fbp, size_t slices) {
    size_t block = BLOCK_BYTES / (slices * qb__fbp_row_stride(fbp) * sizeof(float)) + 1;
    return qb__smaller(block, fbp->info->views);
}

/* Views per block to try. All views at once come first if largest values are measured, because they would be filtered
 * again otherwise. Fewer views than fit into the cache are used only if one slice and one buffer need too much
 * memory. */
static size_t views_after(const void *state, const qb__cut *cut, size_t before) {
    const qb__fbp_devices *gpu = state;
    const size_t slices = slices_of(gpu, cut), all = gpu->fbp->info->views;
    const size_t block = block_views(gpu->fbp, slices);
    if (before == 0) return gpu->measure ? all : block;
    if (before > block) return block;
    return slices == 1 && cut->slots == 1 && before > 1 ? (before + 1) / 2 : 0;
}

/* The space of cuts: first fewer slices at a time, then one buffer. The first cut that fits is taken. */
static qb__cut_space space_of(const qb__fbp_devices *gpu, const qb_env *env) {
    return (qb__cut_space){.slices = gpu->fbp->grid.n[2],
                           .views = gpu->fbp->info->views,
                           .layers = {.thickness = gpu->parts},
                           .most = most_slices(gpu) * gpu->parts,
                           .thinner = qb__thinner_half,
                           .views_after = views_after,
                           .engine = gpu,
                           .cap.device = qb__device_pick_cap(&gpu->pick, env)};
}

/* ---- the offer ---- */

qb_status qb__fbp_device_decide(const qb__task *task, void *plan, const qb_env *env, qb__offer *offer) {
    qb__fbp *fbp = plan;
    qb__fbp_devices *gpu;
    if (fbp->region.asked) return qb__fail(QB_UNSUPPORTED, "--region is computed on the CPU");
    QB__OR_RETURN(qb__alloc(1, sizeof *gpu, &gpu));
    gpu->fbp = gpu->plan = fbp;
    gpu->way_down = qb__down_of(task->output, &fbp->mask, true);
    offer->converts = gpu->way_down.converts;
    offer->state = gpu;
    gpu->pick = qb__device_pick_of(task->devices);
    qb_status status = qb__device_pick_admit(&gpu->pick, fbp->options->kernel, NULL, env);
    if (status == QB_OK) status = choose(gpu);
    if (status != QB_OK) return status;
    /* If only a device can do the job, the CPU must not take it over. */
    offer->named = fbp->options->kernel || fbp->options->interp == QB_INTERP_OVERSAMPLE;
    gpu->parts = qb__smaller((size_t)gpu->pick.set->count, fbp->grid.n[2]);
    /* Compiled programs: preparing and filtering, packing, back-projecting, and converting, one each. */
    offer->start = qb__device_pick_start(&gpu->pick, gpu->way_down.converts ? 4 : 3);
    for (size_t p = 0; p < gpu->parts; p++) gpu->part[p].device = gpu->pick.set->device[p];
    gpu->near = gpu->parts == 1 && fbp->step == 1 && !fbp->roll.maps ? fbp->near : 0;
    offer->space = space_of(gpu, env);
    return QB_OK;
}

/* ---- what is expected, what is said ---- */

/* Seconds of the kernel: the forecast for all slices in one pass is scaled to the passes of the chunks and devices. */
static double kernel_seconds(const qb__fbp_devices *gpu, const qb__cut *cut) {
    const qb__choice *choice = &gpu->pick.choice;
    const qb__device_info *info = qb__device_info_of(gpu->pick.set->device[0]);
    const size_t all = gpu->fbp->grid.n[2], chunk = cut->slices;
    const size_t slices[] = {all, qb__ceil_div(chunk, gpu->parts), qb__ceil_div(all % chunk, gpu->parts)};
    double seconds[3] = {0};
    int unit;
    for (int i = 0; i < 3; i++)
        if (slices[i])
            seconds[i] =
                qb__forecast(info, choice->variant, &gpu->fbp->problem, slices[i], choice->values, NULL, &unit);
    return choice->seconds * ((double)(all / chunk) * seconds[1] + seconds[2]) / seconds[0];
}

/* Seconds of each device to filter and back-project; bytes that are uploaded and downloaded. */
static double work_seconds(const qb__fbp_devices *gpu, const qb__cut *cut) {
    const qb__fbp *fbp = gpu->fbp;
    const double padded = (double)qb__filter_length(fbp->filter) * (double)fbp->grid.n[2] * (double)fbp->info->views;
    return kernel_seconds(gpu, cut) + padded / 50e9 / (double)gpu->parts;
}

static double bytes_up(const qb__fbp_devices *gpu) {
    return qb__fbp_device_has(gpu) || qb__fbp_device_keeps(gpu)
               ? 0
               : (double)gpu->fbp->grid.n[2] * (double)qb__fbp_up_slice(gpu->fbp) / (double)gpu->parts;
}

static double bytes_down(const qb__fbp_devices *gpu) {
    return (double)gpu->fbp->grid.n[2] * (double)qb__down_host(&gpu->way_down, 1) / (double)gpu->parts;
}

double qb__fbp_device_seconds(void *state, const qb__cut *cut) {
    const qb__fbp_devices *gpu = state;
    const double ring = (double)(qb__fbp_up_slice(gpu->fbp) + qb__down_host(&gpu->way_down, 1));
    return qb__device_streaming(&gpu->pick.costs, work_seconds(gpu, cut), bytes_up(gpu), bytes_down(gpu),
                                (double)cut->slabs) +
           (double)cut->slots * (double)cut->slices * ring / gpu->pick.costs.lock;
}

void qb__fbp_device_forecast(const qb__fbp_devices *gpu, const qb__cut *cut, qb__stage *upload) {
    upload[0].all_seconds = bytes_up(gpu) / gpu->pick.costs.up;
    upload[1].all_seconds = work_seconds(gpu, cut);
    upload[2].all_seconds = bytes_down(gpu) / gpu->pick.costs.down;
}

void qb__fbp_device_facts(void *state, const qb__cut *cut, qb__job_facts *facts) {
    (void)cut;
    const qb__fbp_devices *gpu = state;
    qb__facts_of_pick(facts, &gpu->pick, "even one slice needs", "a smaller --size, or --device cpu");
    facts->class_matters = true;
    if (gpu->measure) snprintf(facts->remark, sizeof facts->remark, ", scaled by each slice's largest filtered value");
    qb__fact_number(facts, NULL, "devices", (double)gpu->parts);
}
