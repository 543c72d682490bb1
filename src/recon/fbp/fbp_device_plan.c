/* SPDX-License-Identifier: MIT */
/* Which device and kernel a filtered back-projection takes, and in what chunks. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/status.h"
#include "planner/backproject.h"
#include "planner/kernel_name.h"
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
    if (fbp->options.kernel && !qb__kernel_of_device(fbp->options.kernel))
        return "--kernel names one that runs on the CPU only";
    return NULL;
}

static qb_status refuse_or_leave(qb__fbp *fbp, const qb_env *env, const char *why, bool named) {
    if (named)
        return qb__fail(QB_BAD_ARGUMENT,
                        "--device %s: %s: leave --device out, or give --device cpu", env->device,
                        why);
    qb__info(env, "--device auto: the CPU computes: %s", why);
    qb__fbp_device_destroy(fbp);
    fbp->parts = 1;
    return QB_OK;
}

/* Largest values that nobody knows are measured while it runs, at the cost of filtering again at
 * most: little beside what half precision saves, so the choice goes as if they were known. A bound
 * that is known serves however loose it is: scaled to 2^12, halves keep their 11 bits down to
 * 2^-26 of it. Values of counts and transmissions as small as that come from transmissions so
 * near 1 that their own rounding to float is the larger error, so measuring would gain nothing. */
static qb_status choose(qb__fbp *fbp, const qb__device_info *info) {
    static const float some = 1;
    qb__fbp_device *gpu = fbp->device;
    gpu->problem = fbp->problem;
    if (!gpu->problem.largest)
        gpu->problem.largest = &some; /* only that it is there is looked at */
    qb_status status = qb__device_choose(info, &gpu->problem, fbp->grid.n[2], fbp->options.interp,
                                         fbp->options.accuracy, fbp->options.kernel, &gpu->choice);
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

qb_status qb__fbp_device_decide(qb__fbp *fbp, const qb_env *env) {
    qb__device_set set;
    qb_status status = qb__device_set_open(env, &set);
    if (status != QB_OK || set.count == 0) return status;
    status = qb__alloc(1, sizeof *fbp->device, &fbp->device);
    if (status != QB_OK) {
        qb__device_set_close(&set);
        return status;
    }
    fbp->device->set = set;
    const char *why = not_for_devices(fbp);
    if (why) return refuse_or_leave(fbp, env, why, set.named);
    const qb__device_info *info = qb__device_info_of(set.device[0]);
    warn_of_files(env);
    status = choose(fbp, info);
    if (status == QB_UNSUPPORTED && !set.named && !fbp->options.kernel)
        return refuse_or_leave(fbp, env, qb_detail(), false);
    if (status != QB_OK) return status;
    fbp->parts = (size_t)set.count < fbp->grid.n[2] ? (size_t)set.count : fbp->grid.n[2];
    for (size_t p = 0; p < fbp->parts; p++) fbp->device->part[p].device = set.device[p];
    qb__info(env, "device %s, %s: kernel %s%s", info->spec, info->name,
             fbp->device->choice.variant->id,
             fbp->device->measure ? ", scaled by each slice's largest filtered value" : "");
    return QB_OK;
}

static size_t filter_bytes(const qb__fbp *fbp) {
    qb__filter_spectrum spectrum;
    size_t rows = (fbp->grid.n[2] - 1) * fbp->step + 1; /* that the fields hold */
    qb__filter_describe(fbp->filter, &spectrum);
    return qb__device_filter_forecast(qb__device_info_of(fbp->device->part[0].device), &spectrum,
                                      QB__FILTER_AUTO, fbp->info->views, rows);
}

/* On the device, and as many on the host. */
static size_t measure_bytes(const qb__fbp *fbp, size_t slices) {
    return fbp->device->measure ? qb__rows_largest_bytes(fbp->info->views, (unsigned)slices) : 0;
}

/* The back-projection's tables, and a packed pass. */
static size_t kernel_bytes(const qb__fbp *fbp, size_t slices) {
    const qb__device_choice *choice = &fbp->device->choice;
    const unsigned padded = qb__device_padded(choice->variant, slices);
    return choice->variant->plan_bytes(fbp->device->part[0].device, &fbp->problem, padded,
                                       choice->values) +
           choice->variant->packed_bytes(&fbp->problem, padded, choice->values);
}

/* Bytes on a device for so many slices of its own. */
static size_t device_bytes(const qb__fbp *fbp, size_t slices, unsigned slots) {
    size_t views = fbp->info->views, columns = fbp->info->columns;
    size_t raw = views * columns * qb_dtype_size(fbp->info->dtype);
    size_t slab = fbp->grid.n[0] * fbp->grid.n[1] * sizeof(float);
    return slices * slots * (raw + slab) + filter_bytes(fbp) + kernel_bytes(fbp, slices) +
           fbp->device->block * slices * qb__fbp_row_stride(fbp) * sizeof(float) +
           measure_bytes(fbp, slices);
}

static size_t host_bytes(const qb__fbp *fbp, size_t slices, unsigned slots) {
    qb__stage stages[QB__STAGES_MAX];
    return fbp->fixed_bytes + (size_t)fbp->threads * qb__fbp_scratch(fbp, 1) +
           measure_bytes(fbp, slices) + slices * sizeof(float) +
           qb__pipeline_bytes(stages, qb__fbp_stages(fbp, slices, slots, stages));
}

static size_t ram_of(const qb__fbp *fbp, size_t device) {
    const qb__device_info *info = qb__device_info_of(fbp->device->part[0].device);
    if (!info->in_host_memory) return 0;
    return fbp->parts * device + (info->is_cpu ? COMPILER_BYTES : 0);
}

size_t qb__fbp_device_ram(const qb__fbp *fbp) {
    return ram_of(fbp, fbp->device->bytes);
}

void qb__fbp_device_forecast(qb__fbp *fbp) {
    qb__partition *now = &fbp->partition;
    size_t slices = qb__ceil_div(now->slices_per_chunk, fbp->parts);
    fbp->device->bytes = device_bytes(fbp, slices, now->slots);
    now->bytes = host_bytes(fbp, now->slices_per_chunk, now->slots) + qb__fbp_device_ram(fbp);
}

static size_t device_cap(const qb__fbp *fbp, const qb_env *env) {
    size_t least = SIZE_MAX, free_bytes;
    for (size_t p = 0; p < fbp->parts; p++) {
        if (qb__device_free_bytes(fbp->device->part[p].device, &free_bytes) == QB_OK &&
            free_bytes / 10 * 9 < least)
            least = free_bytes / 10 * 9;
    }
    return env && env->max_vram ? env->max_vram : least;
}

/* The most slices a chunk could usefully have: a few chunks for the stages to overlap, no ring
 * above its share of page-locked memory, no pass above what the kernel takes. */
static size_t most_slices(const qb__fbp *fbp) {
    const qb__bp_parallel_device_variant *variant = fbp->device->choice.variant;
    size_t step = variant->slices_step ? variant->slices_step : 1;
    size_t slab = fbp->grid.n[0] * fbp->grid.n[1] * sizeof(float);
    size_t raw = fbp->info->views * fbp->info->columns * qb_dtype_size(fbp->info->dtype);
    size_t each = qb__ceil_div(fbp->grid.n[2], fbp->parts);
    size_t most = qb__ceil_div(qb__ceil_div(each, 4), step) * step;
    size_t ring = RING_BYTES / fbp->parts / (slab > raw ? slab : raw);
    if (most > ring) most = ring / step * step;
    if (most < step) most = step;
    if (variant->slices_max && most > variant->slices_max) most = variant->slices_max;
    return most < each ? most : each;
}

/* What only a device can do is not the CPU's to take over. */
static qb_status stay_or_leave(qb__fbp *fbp, const qb_env *env) {
    bool stay = fbp->device->set.named || fbp->options.kernel ||
                fbp->options.interp == QB_INTERP_OVERSAMPLE;
    return stay ? QB_NO_MEMORY : refuse_or_leave(fbp, env, qb_detail(), false);
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

static qb_status no_room(qb__fbp *fbp, const qb_env *env, size_t need, size_t have) {
    qb__fail(QB_NO_MEMORY,
             "even one slice needs %s on the device, and %s may be used: %sa smaller --size, or "
             "--device cpu",
             size_text_of(need, true).of, size_text_of(have, false).of,
             env && env->max_vram ? "a larger --max-vram, " : "");
    return stay_or_leave(fbp, env);
}

qb_status qb__fbp_device_leave(qb__fbp *fbp, const qb_env *env) {
    char why[512];
    snprintf(why, sizeof why, "%s", qb_detail());
    qb__fail(QB_NO_MEMORY,
             "even one slice needs %s on the device, which has no room for them (%s): a smaller "
             "--size, or --device cpu",
             size_text_of(device_bytes(fbp, 1, 1), true).of, why);
    return stay_or_leave(fbp, env);
}

/* Views filtered at a time. */
static size_t block_views(const qb__fbp *fbp, size_t slices, bool whole) {
    size_t views = fbp->info->views;
    size_t block = BLOCK_BYTES / (slices * qb__fbp_row_stride(fbp) * sizeof(float)) + 1;
    return whole || block > views ? views : block;
}

/* Set the block for so many slices: all views at once where what is measured would be filtered
 * again otherwise, and there is room. */
static void decide_block(qb__fbp *fbp, size_t slices, unsigned slots, size_t vram) {
    qb__fbp_device *gpu = fbp->device;
    gpu->block = block_views(fbp, slices, gpu->measure);
    if (gpu->measure && device_bytes(fbp, slices, slots) > vram)
        gpu->block = block_views(fbp, slices, false);
}

typedef struct room {
    size_t ram, vram;
} room;

/* Whether chunks of so many slices a device fit, with the block as it is; what they need in *need.
 */
static bool take(qb__fbp *fbp, size_t slices, unsigned slots, const room *have, room *need) {
    size_t chunk = slices * fbp->parts;
    need->vram = device_bytes(fbp, slices, slots);
    need->ram = host_bytes(fbp, chunk, slots) + ram_of(fbp, need->vram);
    if (need->ram > have->ram || need->vram > have->vram) return false;
    fbp->partition = (qb__partition){chunk, qb__ceil_div(fbp->grid.n[2], chunk), slots, need->ram};
    fbp->device->bytes = need->vram;
    return true;
}

/* Fewer slices at a time, then one buffer; where one slice and buffer are too much, fewer views
 * filtered at a time. */
qb_status qb__fbp_device_chunks(qb__fbp *fbp, const qb_env *env) {
    const room have = {qb__memory_cap(env), device_cap(fbp, env)};
    size_t *block = &fbp->device->block;
    room need = {0, 0};
    for (size_t slices = most_slices(fbp); slices >= 1; slices = slices > 1 ? slices / 2 : 0) {
        size_t chunks = qb__ceil_div(fbp->grid.n[2], slices * fbp->parts);
        for (unsigned slots = chunks > 1 ? QB__FBP_SLOTS : 1; slots >= 1; slots--) {
            decide_block(fbp, slices, slots, have.vram);
            if (take(fbp, slices, slots, &have, &need)) return QB_OK;
        }
    }
    while (*block > 1) {
        *block = (*block + 1) / 2;
        if (take(fbp, 1, 1, &have, &need)) return QB_OK;
    }
    if (need.vram > have.vram) return no_room(fbp, env, need.vram, have.vram);
    return qb__fail(QB_BAD_ARGUMENT,
                    "--max-ram of %.1f MiB is too small: even one slice at a time needs %.1f MiB",
                    (double)have.ram / 1048576.0, (double)need.ram / 1048576.0);
}
