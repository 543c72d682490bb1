/* SPDX-License-Identifier: MIT */
#include "planner/device_select.h"

#include <string.h>

#include "base/clock.h"
#include "base/comm.h"
#include "base/log.h"
#include "base/status.h"

static qb_status open_one(const char *spec, qb__device_set *set) {
    qb_status status = qb__device_open(spec, &set->device[set->count]);
    if (status == QB_OK) set->count++;
    return status;
}

static const qb__device_info *first_gpu(qb__device_api api) {
    const qb__device_info *list;
    size_t count;
    if (qb__device_list(&list, &count) != QB_OK) return NULL;
    for (size_t i = 0; i < count; i++) {
        if (list[i].api == api && !list[i].is_cpu) return &list[i];
    }
    return NULL;
}

static const qb__device_info *first(qb__device_api api) {
    const qb__device_info *list, *gpu = first_gpu(api);
    size_t count;
    if (gpu || qb__device_list(&list, &count) != QB_OK) return gpu;
    for (size_t i = 0; i < count; i++) {
        if (list[i].api == api) return &list[i];
    }
    return NULL;
}

/* Several devices share a job in equal parts with one kernel. All CUDA devices are taken. OpenCL may list the CPU
 * besides GPUs, and a GPU once per driver: devices like the first GPU are taken, or like the first device if there is
 * no GPU. */
static qb_status find_all(qb__device_api api, const char *spec, const char *found[QB__DEVICES_MAX], int *many) {
    const qb__device_info *list, *model = first(api);
    size_t count;
    *many = 0;
    if (!model) return qb__fail(QB_NO_DEVICE, "--device %s: %s", spec, qb__device_missing(api));
    qb_status status = qb__device_list(&list, &count);
    for (size_t i = 0; status == QB_OK && i < count && *many < QB__DEVICES_MAX; i++) {
        bool alike = api == QB__API_CUDA ||
                     (strcmp(list[i].name, model->name) == 0 && strcmp(list[i].driver, model->driver) == 0);
        if (list[i].api == api && alike) found[(*many)++] = list[i].spec;
    }
    return status;
}

static qb_status open_all(qb__device_api api, const char *spec, qb__device_set *set) {
    const char *found[QB__DEVICES_MAX];
    int many;
    qb_status status = find_all(api, spec, found, &many);
    for (int i = 0; status == QB_OK && i < many; i++) status = open_one(found[i], set);
    return status;
}

/* Open the device of this rank. */
static qb_status open_next(qb__device_api api, const char *spec, const qb__comm *ranks, qb__device_set *set) {
    const char *found[QB__DEVICES_MAX];
    int many;
    QB__OR_RETURN(find_all(api, spec, found, &many));
    set->sharing = (ranks->here + many - 1) / many;
    return open_one(found[ranks->at % many], set);
}

/* A device for which kernels can be compiled: a driver alone does not include CUDA's compiler. */
static const qb__device_info *usable_gpu(qb__device_api api, const qb_env *env) {
    const qb__device_info *gpu = first_gpu(api);
    const char *lacks = qb__device_missing(api);
    if (!gpu || !*lacks) return gpu;
    qb__warn(env, "--device auto does not use %s: %s" QB__CODE("device-unused"), gpu->spec, lacks);
    return NULL;
}

/* If a device that the user did not name fails to open, the CPU computes. */
static qb_status open_auto(const qb_env *env, qb__device_set *set) {
    const qb__device_info *gpu = usable_gpu(QB__API_CUDA, env);
    if (!gpu) gpu = usable_gpu(QB__API_OPENCL, env);
    if (gpu && open_one(gpu->spec, set) != QB_OK)
        qb__warn(env, "--device auto does not use %s: %s" QB__CODE("device-unused"), gpu->spec, qb_detail());
    return QB_OK;
}

/* Report a --max-vram that limits nothing, because that is probably a mistake. */
static void tell_max_vram(const qb_env *env, const qb__device_set *set) {
    if (!env || !env->max_vram) return;
    if (set->count == 0) qb__info(env, "--max-vram has no effect: the CPU computes");
    for (int i = 0; i < set->count; i++) {
        const qb__device_info *info = qb__device_info_of(set->device[i]);
        if (env->max_vram > info->memory_bytes)
            qb__info(env, "--max-vram of %.1f GiB is more than %s has: %.1f GiB", (double)env->max_vram / 1073741824.0,
                     info->spec, (double)info->memory_bytes / 1073741824.0);
    }
}

static qb_status open_named(const char *spec, const qb__comm *ranks, qb__device_set *set) {
    if (strcmp(spec, "cpu") == 0) return QB_OK;
    if (ranks) set->sharing = ranks->here;
    qb_status status = ranks && strcmp(spec, "cuda") == 0     ? open_next(QB__API_CUDA, spec, ranks, set)
                       : ranks && strcmp(spec, "opencl") == 0 ? open_next(QB__API_OPENCL, spec, ranks, set)
                       : strcmp(spec, "cuda:all") == 0        ? open_all(QB__API_CUDA, spec, set)
                       : strcmp(spec, "opencl:all") == 0      ? open_all(QB__API_OPENCL, spec, set)
                                                              : open_one(spec, set);
    if (status != QB_OK) qb__device_set_close(set);
    return status;
}

bool qb__device_is_named(const qb_env *env) { return env && env->device && strcmp(env->device, "auto") != 0; }

bool qb__device_is_asked(const qb_env *env) { return qb__device_is_named(env) && strcmp(env->device, "cpu") != 0; }

qb_status qb__device_set_open(const qb_env *env, qb__device_set *set) {
    const char *spec = env ? env->device : NULL;
    const double from = qb__now();
    *set = (qb__device_set){.named = qb__device_is_named(env), .sharing = 1};
    qb_status status = set->named ? open_named(spec, qb__comm_of(env), set) : open_auto(env, set);
    set->opened = qb__now() - from;
    if (status == QB_OK) tell_max_vram(env, set);
    return status;
}

void qb__device_set_close(qb__device_set *set) {
    qb__compile_done(set, NULL);
    for (int i = 0; i < set->count; i++) qb__device_close(set->device[i]);
    set->count = 0;
}
