/* SPDX-License-Identifier: MIT */
/* Which device and kernel a cone-beam reconstruction takes, and in what slabs and blocks. */
#include <math.h>
#include <stdio.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/status.h"
#include "planner/tuning.h"
#include "recon/fdk/fdk_cpu.h"
#include "recon/fdk/fdk_device.h"

enum {
    MOST_VIEWS = 128, /* of a block */
    /* A processor's kernels are compiled in this process where no cache has them. */
    COMPILER_BYTES = 160 << 20
};

static const qb__bp_cone_device_variant *variant_of(const qb__fdk_gpu *gpu) {
    return qb__bp_cone_on_device(gpu->choice.variant);
}

/* ---- what a cut holds ---- */

qb__bp_cone_most qb__fdk_gpu_most(const qb__fdk_gpu *gpu, const qb__cut *cut) {
    return (qb__bp_cone_most){cut->views, gpu->fdk->window_rows};
}

size_t qb__fdk_gpu_block(const qb__fdk_gpu *gpu, const qb__cut *cut) {
    return cut->views * gpu->fdk->window_rows * gpu->fdk->width * sizeof(float);
}

size_t qb__fdk_gpu_slab(const qb__fdk_gpu *gpu, const qb__cut *cut) {
    return cut->slices * gpu->fdk->grid.n[0] * gpu->fdk->grid.n[1] * sizeof(float);
}

static size_t device_bytes(const qb__fdk_gpu *gpu, const qb__cut *cut) {
    const qb__bp_cone_problem *p = &gpu->fdk->problem;
    const qb__bp_cone_most most = qb__fdk_gpu_most(gpu, cut);
    return cut->slots * qb__fdk_gpu_block(gpu, cut) +
           qb__fdk_gpu_slabs(cut) * qb__fdk_gpu_slab(gpu, cut) +
           variant_of(gpu)->packed_bytes(p, most, gpu->choice.values) +
           variant_of(gpu)->plan_bytes(gpu->device, p, most, gpu->choice.values);
}

/* Devices that compute in the host's memory hold theirs of it, too. */
qb__room qb__fdk_gpu_memory(void *state, const qb__cut *cut) {
    const qb__fdk_gpu *gpu = state;
    const qb__device_info *info = qb__device_info_of(gpu->device);
    qb__room room = {.host = qb__fdk_filter_bytes(gpu->fdk), .device = device_bytes(gpu, cut)};
    if (info->in_host_memory) room.host += room.device;
    if (info->is_cpu) room.host += COMPILER_BYTES;
    return room;
}

void qb__fdk_gpu_cut(void *state, const qb__cut *cut, const size_t *edge) {
    (void)edge;
    qb__fdk_gpu *gpu = state;
    gpu->rows = gpu->raw_rows = 0;
    for (size_t slab = 0; slab < cut->slabs; slab++) {
        const qb__fdk_window *w = &gpu->fdk->window[slab];
        if (w->rows.r0 == w->rows.r1) continue;
        gpu->rows += (double)(w->rows.r1 - w->rows.r0);
        gpu->raw_rows += qb__fdk_rows_read(gpu->fdk->info, &w->raw);
    }
}

qb_status qb__fdk_gpu_no_room(void *state, const qb__cut *least, const qb__room *cap, const qb_env *env) {
    const qb__fdk_gpu *gpu = state;
    const double mib = 1048576.0, need = (double)device_bytes(gpu, least) / mib;
    char why[512];
    if (cap)
        return qb__fail(QB_NO_MEMORY,
                        "even one slice needs %.1f MiB on the device, and %.1f MiB may be used: %sa "
                        "smaller --size, or --device cpu",
                        ceil(10 * need) / 10, floor((double)cap->device / mib * 10) / 10,
                        env && env->max_vram ? "a larger --max-vram, " : "");
    snprintf(why, sizeof why, "%s", qb_detail());
    return qb__fail(QB_NO_MEMORY,
                    "even one slice needs %.1f MiB on the device, which has no room for them (%s): a "
                    "smaller --size, or --device cpu",
                    ceil(10 * need) / 10, why);
}

/* ---- how long ---- */

static double back_projection(const qb__fdk_gpu *gpu, const qb__cut *cut) {
    const double slice = (double)gpu->fdk->grid.n[0] * (double)gpu->fdk->grid.n[1];
    /* The sums pass the device's memory once more for each block: about 4 TB/s there, and the blocks are
     * copied twice. */
    return gpu->choice.seconds +
           ((double)cut->blocks * slice * (double)gpu->fdk->grid.n[2] +
            2 * gpu->rows * (double)gpu->fdk->width * (double)gpu->fdk->problem.views) * 8 / 2e12;
}

double qb__fdk_gpu_seconds(void *state, const qb__cut *cut) {
    const qb__fdk_gpu *gpu = state;
    const qb__fdk *fdk = gpu->fdk;
    const double up = gpu->rows * (double)fdk->width * (double)fdk->problem.views * 4 / gpu->costs.up;
    const double down = (double)qb__fdk_gpu_slab(gpu, cut) / (double)cut->slices *
                        (double)fdk->grid.n[2] / gpu->costs.down;
    const double filter = qb__fdk_filter_seconds(fdk, gpu->rows) / gpu->threads;
    const double read = qb__fdk_read_seconds(fdk, gpu->raw_rows);
    const double write = qb__fdk_write_seconds(fdk, gpu->value_bytes);
    const double project = back_projection(gpu, cut), slabs = (double)cut->slabs;
    const double locked = (double)cut->slots * (double)qb__fdk_gpu_block(gpu, cut) +
                          (double)qb__fdk_gpu_slabs(cut) * (double)qb__fdk_gpu_slab(gpu, cut);
    /* Launching, waiting, handing over: a tenth of a millisecond a chunk. */
    const double extra = locked / gpu->costs.lock + 1e-4 * slabs * (double)cut->blocks;
    if (cut->slots < 2) return extra + read + filter + up + project + down + write;
    const double slowest = fmax(fmax(read, fmax(filter, up)), fmax(project, fmax(down, write)));
    return extra + slowest + (down + write) / slabs +
           (read + filter + up) / (slabs * (double)cut->blocks);
}

/* Packing, back-projecting: two programs. */
double qb__fdk_gpu_start(void *state) {
    enum { PROGRAMS = 2 };
    const qb__fdk_gpu *gpu = state;
    const qb__device_costs *costs = &gpu->costs;
    return costs->start + PROGRAMS * (gpu->compiled ? costs->load : costs->compile);
}

/* ---- the offer ---- */

/* Half as many each time, down to one where there is no room for more. */
static size_t views_after(const void *state, const qb__cut *cut, size_t before) {
    (void)cut;
    const qb__fdk_gpu *gpu = state;
    if (before == 0) return qb__smaller(MOST_VIEWS, gpu->fdk->problem.views);
    return before / 2;
}

static size_t device_cap(const qb__fdk_gpu *gpu, const qb_env *env) {
    size_t free_bytes;
    if (env && env->max_vram) return env->max_vram;
    return qb__device_free_bytes(gpu->device, &free_bytes) == QB_OK ? free_bytes / 10 * 9 : SIZE_MAX;
}

static qb__question question_of(const qb__fdk_gpu *gpu) {
    qb__question question = qb__fdk_question(gpu->fdk);
    question.device = qb__device_info_of(gpu->device);
    return question;
}

/* Why this job stays on the CPU; NULL = it can go to the device. */
static const char *not_for_devices(const qb__fdk_gpu *gpu) {
    const char *kernel = gpu->fdk->options->kernel;
    if (kernel && !qb__kernel_of_device(kernel)) return "--kernel names one that runs on the CPU only";
    if (gpu->set.named && gpu->set.count > 1) return "one device computes a cone beam: name it";
    return NULL;
}

static qb_status refuse(const qb_env *env, const char *why, bool named) {
    if (!named) return qb__fail(QB_UNSUPPORTED, "%s", why);
    return qb__fail(QB_BAD_ARGUMENT, "--device %s: %s, or leave --device out", env->device, why);
}

static void warn_of_files(const qb_env *env) {
    const char *cache = qb__program_cache_problem();
    qb__tuning_warn(env);
    if (*cache) qb__warn(env, "%s", cache);
}

static qb__cut_space space_of(const qb__fdk_gpu *gpu, const qb_env *env) {
    const qb__bp_cone_problem *p = &gpu->fdk->problem;
    return (qb__cut_space){.slices = p->nz,
                           .views = p->views,
                           .layers = {.thickness = variant_of(gpu)->layer(gpu->choice.values)},
                           .most = p->nz,
                           .thinner = qb__thinner_layers,
                           .views_after = views_after,
                           .engine = gpu,
                           .views_stream = true,
                           .cap.device = device_cap(gpu, env)};
}

qb_status qb__fdk_gpu_decide(const qb__task *task, void *plan, const qb_env *env, qb__offer *offer) {
    const qb__fdk *fdk = plan;
    qb__fdk_gpu *gpu;
    qb_status status = qb__alloc(1, sizeof *gpu, &gpu);
    if (status != QB_OK) return status;
    gpu->fdk = fdk;
    gpu->threads = task->threads;
    gpu->value_bytes = qb_dtype_size(task->output->dtype);
    offer->named = qb__device_is_named(env);
    status = qb__device_set_open(env, &gpu->set);
    if (status != QB_OK || gpu->set.count == 0) {
        qb__free(gpu);
        return status;
    }
    offer->state = gpu;
    gpu->device = gpu->set.device[0];
    const char *why = not_for_devices(gpu);
    if (why) return refuse(env, why, gpu->set.named);
    offer->named = offer->named || fdk->options->kernel;
    offer->timed = true;
    warn_of_files(env);
    const qb__question question = question_of(gpu);
    status = qb__choose(&question, &gpu->choice);
    if (status != QB_OK) return status;
    qb__device_costs_of(question.device, &gpu->costs);
    gpu->compiled = qb__programs_noted(gpu->device, gpu->choice.variant->id);
    offer->space = space_of(gpu, env);
    return QB_OK;
}

/* ---- what is said ---- */

void qb__fdk_gpu_tell(void *state, const qb_env *env) {
    const qb__fdk_gpu *gpu = state;
    const qb__device_info *info = qb__device_info_of(gpu->device);
    qb__info(env, "device %s, %s: kernel %s; the CPU filters beside it", info->spec, info->name,
             gpu->choice.variant->id);
}

void qb__fdk_gpu_describe(void *state, const qb__cut *cut, cJSON *plan) {
    const qb__fdk_gpu *gpu = state;
    const qb__question question = question_of(gpu);
    const qb__variant *variant = gpu->choice.variant;
    cJSON_AddStringToObject(plan, "kernel", variant->id);
    cJSON_AddStringToObject(plan, "accuracy", qb_accuracy_name(variant->accuracy));
    cJSON_AddStringToObject(plan, "device", question.device->spec);
    cJSON_AddStringToObject(plan, "device_name", question.device->name);
    cJSON_AddNumberToObject(plan, "device_memory_bytes", (double)cut->need.device);
    cJSON_AddItemToObject(plan, "kernel_parameters", qb__parameters_json(variant, gpu->choice.values));
    cJSON_AddItemToObject(plan, "why_device", qb__why(&question));
}
