/* SPDX-License-Identifier: MIT */
/* Which device and kernel a filtered back-projection takes, and in what chunks. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/status.h"
#include "io/scan.h"
#include "planner/choose.h"
#include "planner/tuning.h"
#include "recon/fbp/fbp_device.h"

enum {
    RING_BYTES = 1 << 30, /* page-locked memory a ring's buffer may take: locking costs time */
    BLOCK_BYTES =
        64 << 20, /* filtered rows at a time: about what stays in L2 between two kernels */
    /* A processor's kernels are compiled in this process where no cache has them, and the compiler
     * gives nothing back: 132 to 142 MiB measured (PoCL, every family). */
    COMPILER_BYTES = 160 << 20
};

/* Why this job stays on the CPU; NULL = it can go to a device. */
static const char *not_for_devices(const qb__fbp *fbp) {
    if (fbp->sweep) return "a sweep over axes is made slice by slice on the CPU";
    if (fbp->options->kernel && !qb__kernel_of_device(fbp->options->kernel))
        return "--kernel names one that runs on the CPU only";
    if (fbp->level.maps) return "rows of a turned detector are resampled on the CPU";
    return NULL;
}

qb__question qb__fbp_device_question(const qb__fbp_devices *gpu) {
    qb__question question = qb__fbp_question(gpu->fbp);
    question.device = qb__device_info_of(gpu->set.device[0]);
    question.problem = &gpu->problem;
    return question;
}

/* Largest values that nobody knows are measured while it runs, at the cost of filtering again at
 * most: little beside what half precision saves, so the choice goes as if they were known. A bound
 * that is known serves however loose it is: scaled to 2^12, halves keep their 11 bits down to
 * 2^-26 of it. Values of counts and transmissions as small as that come from transmissions so
 * near 1 that their own rounding to float is the larger error, so measuring would gain nothing. */
static qb_status choose(qb__fbp_devices *gpu, const qb__device_info *info) {
    static const float some = 1;
    const qb__fbp *fbp = gpu->fbp;
    gpu->problem = fbp->problem;
    if (!gpu->problem.largest)
        gpu->problem.largest = &some; /* only that it is there is looked at */
    const qb__question question = qb__fbp_device_question(gpu);
    qb_status status = qb__choose(&question, &gpu->choice);
    if (status != QB_OK) return status;
    gpu->measure =
        qb__device_pass_measures(gpu->choice.variant, info, &fbp->problem, gpu->choice.values);
    return QB_OK;
}

/* What lies there and is not used: said once, before it costs time. */
static void warn_of_files(const qb_env *env) {
    const char *cache = qb__program_cache_problem();
    qb__tuning_warn(env);
    if (*cache) qb__warn(env, "%s", cache);
}

static size_t filter_bytes(const qb__fbp_devices *gpu) {
    const qb__fbp *fbp = gpu->fbp;
    qb__filter_spectrum spectrum;
    size_t rows = (fbp->grid.n[2] - 1) * fbp->step + 1; /* that the fields hold */
    qb__filter_describe(fbp->filter, &spectrum);
    return qb__device_filter_forecast(qb__device_info_of(gpu->part[0].device), &spectrum,
                                      QB__FILTER_AUTO, fbp->info->views, rows);
}

/* On the device, and as many on the host. */
static size_t measure_bytes(const qb__fbp_devices *gpu, size_t slices) {
    return gpu->measure ? qb__rows_largest_bytes(gpu->fbp->info->views, (unsigned)slices) : 0;
}

/* The back-projection's tables, and a packed pass. */
static size_t kernel_bytes(const qb__fbp_devices *gpu, size_t slices) {
    const qb__choice *choice = &gpu->choice;
    const qb__bp_parallel_problem *problem = &gpu->fbp->problem;
    const unsigned padded = qb__variant_padded(choice->variant, slices);
    const qb__bp_parallel_device_variant *variant = qb__bp_parallel_on_device(choice->variant);
    return variant->plan_bytes(gpu->part[0].device, problem, padded, choice->values) +
           variant->packed_bytes(problem, padded, choice->values);
}

/* Slices of a device's own. */
static size_t slices_of(const qb__fbp_devices *gpu, const qb__cut *cut) {
    return qb__ceil_div(cut->slices, gpu->parts);
}

static size_t device_bytes(const qb__fbp_devices *gpu, const qb__cut *cut) {
    const qb__fbp *fbp = gpu->fbp;
    const size_t slices = slices_of(gpu, cut);
    return slices * cut->slots * (qb__fbp_raw_slice(fbp) + qb__fbp_slab_slice(fbp)) +
           filter_bytes(gpu) + kernel_bytes(gpu, slices) +
           cut->views * slices * qb__fbp_row_stride(fbp) * sizeof(float) +
           measure_bytes(gpu, slices);
}

/* Devices that compute in the host's memory hold theirs of it, too. */
qb__room qb__fbp_device_memory(void *state, const qb__cut *cut) {
    const qb__fbp_devices *gpu = state;
    const qb__device_info *info = qb__device_info_of(gpu->part[0].device);
    qb__room room = {.host = measure_bytes(gpu, cut->slices) + cut->slices * sizeof(float),
                     .device = device_bytes(gpu, cut)};
    if (info->in_host_memory) room.host += gpu->parts * room.device;
    if (info->is_cpu) room.host += COMPILER_BYTES;
    return room;
}

static size_t device_cap(const qb__fbp_devices *gpu, const qb_env *env) {
    size_t least = SIZE_MAX, free_bytes;
    for (size_t p = 0; p < gpu->parts; p++) {
        if (qb__device_free_bytes(gpu->part[p].device, &free_bytes) == QB_OK &&
            free_bytes / 10 * 9 < least)
            least = free_bytes / 10 * 9;
    }
    return env && env->max_vram ? env->max_vram : least;
}

/* The most slices a chunk could usefully have: a few chunks for the stages to overlap, no ring
 * above its share of page-locked memory, no pass above what the kernel takes. */
static size_t most_slices(const qb__fbp_devices *gpu) {
    const qb__fbp *fbp = gpu->fbp;
    const qb__variant *variant = gpu->choice.variant;
    size_t step = variant->step ? variant->step : 1;
    size_t slab = qb__fbp_slab_slice(fbp), raw = qb__fbp_raw_slice(fbp);
    size_t each = qb__ceil_div(fbp->grid.n[2], gpu->parts);
    size_t most = qb__ceil_div(qb__ceil_div(each, 4), step) * step;
    size_t ring = RING_BYTES / gpu->parts / (slab > raw ? slab : raw);
    if (most > ring) most = ring / step * step;
    if (most < step) most = step;
    if (variant->most && most > variant->most) most = variant->most;
    return most < each ? most : each;
}

typedef struct size_text {
    char of[32];
} size_text;

/* In the unit that leaves few digits; `up`: rounded up, so that what is needed suffices as said. */
static size_text size_text_of(size_t bytes, bool up) {
    static const struct {
        double bytes;
        const char *name;
    } units[] = {{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}};
    size_text text;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        double tenths = 10 * (double)bytes / units[i].bytes;
        if (tenths < 10) continue;
        snprintf(text.of, sizeof text.of, "%.10g %s", (up ? ceil(tenths) : floor(tenths)) / 10,
                 units[i].name);
        return text;
    }
    snprintf(text.of, sizeof text.of, "%zu bytes", bytes);
    return text;
}

qb_status qb__fbp_device_no_room(void *state, const qb__cut *least, const qb__room *cap,
                                 const qb_env *env) {
    const qb__fbp_devices *gpu = state;
    char why[512];
    if (cap)
        return qb__fail(QB_NO_MEMORY,
                        "even one slice needs %s on the device, and %s may be used: %sa smaller "
                        "--size, or --device cpu",
                        size_text_of(least->need.device, true).of,
                        size_text_of(cap->device, false).of,
                        env && env->max_vram ? "a larger --max-vram, " : "");
    snprintf(why, sizeof why, "%s", qb_detail());
    return qb__fail(QB_NO_MEMORY,
                    "even one slice needs %s on the device, which has no room for them (%s): a "
                    "smaller --size, or --device cpu",
                    size_text_of(device_bytes(gpu, least), true).of, why);
}

/* ---- cuts ---- */

/* Views filtered at a time. */
static size_t block_views(const qb__fbp *fbp, size_t slices) {
    size_t block = BLOCK_BYTES / (slices * qb__fbp_row_stride(fbp) * sizeof(float)) + 1;
    return qb__smaller(block, fbp->info->views);
}

/* All views at once where what is measured would be filtered again otherwise, and there is room; fewer
 * than stay in the cache only when one slice and buffer are too much. */
static size_t views_after(const void *state, const qb__cut *cut, size_t before) {
    const qb__fbp_devices *gpu = state;
    const size_t slices = slices_of(gpu, cut), all = gpu->fbp->info->views;
    const size_t block = block_views(gpu->fbp, slices);
    if (before == 0) return gpu->measure ? all : block;
    if (before > block) return block;
    return slices == 1 && cut->slots == 1 && before > 1 ? (before + 1) / 2 : 0;
}

/* Fewer slices at a time, then one buffer, the first that fits. */
static qb__cut_space space_of(const qb__fbp_devices *gpu, const qb_env *env) {
    return (qb__cut_space){.slices = gpu->fbp->grid.n[2],
                           .views = gpu->fbp->info->views,
                           .layers = {.thickness = gpu->parts},
                           .most = most_slices(gpu) * gpu->parts,
                           .parts = gpu->parts,
                           .thinner = qb__thinner_half,
                           .views_after = views_after,
                           .engine = gpu,
                           .cap.device = device_cap(gpu, env)};
}

/* ---- the offer ---- */

static qb_status refuse(const qb_env *env, const char *why, bool named) {
    if (!named) return qb__fail(QB_UNSUPPORTED, "%s", why);
    return qb__fail(QB_BAD_ARGUMENT,
                    "--device %s: %s: leave --device out, or give --device cpu", env->device, why);
}

/* Nobody said where: the device that the projections are on goes before the first one. */
static qb_status open_set(const qb__fbp *fbp, const qb_env *env, qb__device_set *set) {
    const qb__tensor_device *array = qb__scan_on_device(fbp->scan);
    const char *asked = env ? env->device : NULL;
    if (!array || (asked && strcmp(asked, "auto") != 0)) return qb__device_set_open(env, set);
    char spec[24];
    qb_env there = env ? *env : (qb_env){0};
    snprintf(spec, sizeof spec, "cuda:%d", qb__tensor_of(array)->given.device);
    there.device = spec;
    qb_status status = qb__device_set_open(&there, set);
    set->named = false;
    return status;
}

qb_status qb__fbp_device_decide(const qb__task *task, void *plan, const qb_env *env,
                                qb__offer *offer) {
    (void)task;
    qb__fbp *fbp = plan;
    const char *why = not_for_devices(fbp);
    qb__fbp_devices *gpu;
    qb_status status = qb__alloc(1, sizeof *gpu, &gpu);
    if (status != QB_OK) return status;
    gpu->fbp = gpu->plan = fbp;
    offer->named = qb__device_is_named(env);
    status = open_set(fbp, env, &gpu->set);
    if (status != QB_OK || gpu->set.count == 0) {
        qb__free(gpu);
        return status;
    }
    offer->state = gpu;
    if (why) return refuse(env, why, gpu->set.named);
    offer->named = offer->named || fbp->options->kernel;
    warn_of_files(env);
    status = choose(gpu, qb__device_info_of(gpu->set.device[0]));
    if (status != QB_OK) return status;
    /* What only a device can do is not the CPU's to take over. */
    offer->named = offer->named || fbp->options->interp == QB_INTERP_OVERSAMPLE;
    gpu->parts = qb__smaller((size_t)gpu->set.count, fbp->grid.n[2]);
    for (size_t p = 0; p < gpu->parts; p++) gpu->part[p].device = gpu->set.device[p];
    const qb__device *device = gpu->part[0].device;
    qb__device_costs_of(qb__device_info_of(device), &gpu->costs);
    gpu->compiled = qb__programs_noted(device, gpu->choice.variant->id);
    offer->space = space_of(gpu, env);
    return QB_OK;
}

/* ---- what is expected, what is said ---- */

/* What is known of all slices in one pass, for the passes that chunks and devices cut them into. */
static double kernel_seconds(const qb__fbp_devices *gpu, const qb__cut *cut) {
    const qb__choice *choice = &gpu->choice;
    const qb__device_info *info = qb__device_info_of(gpu->set.device[0]);
    const size_t all = gpu->fbp->grid.n[2], chunk = cut->slices;
    const size_t slices[] = {all, qb__ceil_div(chunk, gpu->parts),
                             qb__ceil_div(all % chunk, gpu->parts)};
    double seconds[3] = {0};
    int unit;
    for (int i = 0; i < 3; i++)
        if (slices[i])
            seconds[i] = qb__forecast(info, choice->variant, &gpu->fbp->problem, slices[i],
                                      choice->values, NULL, &unit);
    return choice->seconds * ((double)(all / chunk) * seconds[1] + seconds[2]) / seconds[0];
}

double qb__fbp_device_seconds(void *state, const qb__cut *cut) {
    const qb__fbp_devices *gpu = state;
    const qb__fbp *fbp = gpu->fbp;
    const double parts = (double)gpu->parts, slices = (double)fbp->grid.n[2];
    const double padded = (double)qb__filter_length(fbp->filter) * slices * (double)fbp->info->views;
    const double work = kernel_seconds(gpu, cut) + padded / 50e9 / parts;
    const bool there = qb__fbp_device_has(gpu, qb__scan_on_device(fbp->scan));
    const double up = there ? 0 : slices * (double)qb__fbp_raw_slice(fbp) / parts;
    const double down = slices * (double)qb__fbp_slab_slice(fbp) / parts;
    const double ring = (double)(qb__fbp_raw_slice(fbp) + qb__fbp_slab_slice(fbp));
    return qb__device_streaming(&gpu->costs, work, up, down, (double)cut->slabs) +
           (double)cut->slots * (double)cut->slices * ring / gpu->costs.lock;
}

/* Preparing and filtering, packing, back-projecting: three programs. */
double qb__fbp_device_start(void *state) {
    enum { PROGRAMS = 3 };
    const qb__fbp_devices *gpu = state;
    const qb__device_costs *costs = &gpu->costs;
    return costs->start + PROGRAMS * (gpu->compiled ? costs->load : costs->compile);
}

double qb__fbp_device_least(const qb_env *env) {
    return qb__device_least_start(env);
}

void qb__fbp_device_tell(void *state, const qb_env *env) {
    const qb__fbp_devices *gpu = state;
    const qb__device_info *info = qb__device_info_of(gpu->set.device[0]);
    qb__info(env, "device %s, %s: kernel %s%s", info->spec, info->name, gpu->choice.variant->id,
             gpu->measure ? ", scaled by each slice's largest filtered value" : "");
    qb__fbp_tell_accuracy(gpu->fbp, gpu->choice.variant->accuracy, env);
}

void qb__fbp_device_describe(void *state, const qb__cut *cut, cJSON *plan) {
    const qb__fbp_devices *gpu = state;
    const qb__device_info *info = qb__device_info_of(gpu->set.device[0]);
    const qb__question question = qb__fbp_device_question(gpu);
    const qb__variant *variant = gpu->choice.variant;
    cJSON_AddStringToObject(plan, "kernel", variant->id);
    cJSON_AddStringToObject(plan, "accuracy", qb_accuracy_name(variant->accuracy));
    cJSON_AddStringToObject(plan, "device", info->spec);
    cJSON_AddStringToObject(plan, "device_name", info->name);
    cJSON_AddNumberToObject(plan, "devices", (double)gpu->parts);
    cJSON_AddNumberToObject(plan, "device_memory_bytes", (double)cut->need.device);
    cJSON_AddItemToObject(plan, "kernel_parameters",
                          qb__parameters_json(variant, gpu->choice.values));
    cJSON_AddItemToObject(plan, "why_device", qb__why(&question));
}
