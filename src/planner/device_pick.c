/* SPDX-License-Identifier: MIT */
#include "planner/device_pick.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/status.h"
#include "planner/tuning.h"

/* OpenCL on a CPU compiles kernels inside this process if they are not cached, and the compiler does not return its
 * memory: 132 to 142 MiB measured (PoCL, all families). */
enum { COMPILER_BYTES = 160 << 20 };

/* ---- which ---- */

static const char one_a_process[] = "it takes one device a process";

const char *qb__device_pick_several(const qb__device_pick *pick) {
    return pick->set->named && pick->set->count > 1 ? one_a_process : NULL;
}

/* Several devices were asked for, but the job uses one: tell how to use all of them. */
static qb_status tell_how_several(const qb__device_pick *pick, const qb_env *env) {
    const int count = pick->set->count, api = (int)strcspn(env->device, ":");
    return qb__fail(QB_BAD_ARGUMENT,
                    "--device %s: %s, and there are %d: name one (--device %s), or for qb fdk, sirt, cgls and mbir "
                    "start as many processes, "
                    "which share the work (mpirun -n %d --bind-to none qb ..., with --device %.*s)",
                    env->device, one_a_process, count, qb__device_info_of(pick->device)->spec, count, api, env->device);
}

/* A device that exists but is not used is mentioned once, before it costs time. */
static void warn_of_files(const qb_env *env) {
    const char *cache = qb__program_cache_problem();
    qb__tuning_warn(env);
    if (*cache) qb__warn(env, "%s" QB__CODE("kernel-cache"), cache);
}

qb_status qb__device_pick_admit(const qb__device_pick *pick, const char *kernel, const char *why, const qb_env *env) {
    if (!why && kernel && !qb__kernel_of_device(kernel)) why = "--kernel names one that runs on the CPU only";
    if (why && !pick->set->named) return qb__fail(QB_UNSUPPORTED, "%s", why);
    if (why == one_a_process) return tell_how_several(pick, env);
    if (why)
        return qb__fail(QB_BAD_ARGUMENT, "--device %s: %s: leave --device out, or give --device cpu", env->device, why);
    warn_of_files(env);
    return QB_OK;
}

qb_status qb__device_pick_choose(qb__device_pick *pick, const qb__question *question) {
    pick->question = *question;
    pick->question.device = qb__device_info_of(pick->device);
    QB__OR_RETURN(qb__choose(&pick->question, &pick->choice));
    qb__device_costs_of(pick->question.device, &pick->costs);
    pick->compiled = qb__programs_noted(pick->device, pick->choice.variant->id);
    return QB_OK;
}

/* ---- what it costs ---- */

size_t qb__device_pick_cap(const qb__device_pick *pick, const qb_env *env) {
    size_t least = SIZE_MAX, free_bytes;
    const size_t held = pick->set->held;
    if (env && env->max_vram) return env->max_vram - qb__smaller(held, env->max_vram);
    for (int i = 0; i < pick->set->count; i++)
        if (qb__device_free_bytes(pick->set->device[i], &free_bytes) == QB_OK)
            least = qb__smaller(least, (free_bytes - qb__smaller(held, free_bytes)) / 10 * 9);
    if (least < SIZE_MAX && pick->set->sharing > 1) least /= (size_t)pick->set->sharing;
    return least;
}

/* Devices that use host memory need their memory there too. */
size_t qb__device_pick_host_bytes(const qb__device_pick *pick, size_t device_bytes) {
    const qb__device_info *info = qb__device_info_of(pick->device);
    return (info->in_host_memory ? device_bytes : 0) + (info->is_cpu ? COMPILER_BYTES : 0);
}

double qb__device_pick_start(const qb__device_pick *pick, int programs) {
    return pick->costs.start + programs * (pick->compiled ? pick->costs.load : pick->costs.compile);
}

/* ---- what is said ---- */

typedef struct size_text {
    char of[32];
} size_text;

/* A size in a unit that needs few digits; `up`: rounded up, so that the printed amount is enough. */
static size_text size_text_of(size_t bytes, bool up) {
    static const struct {
        double bytes;
        const char *name;
    } units[] = {{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}};
    size_text text;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        double tenths = 10 * (double)bytes / units[i].bytes;
        if (tenths < 10) continue;
        snprintf(text.of, sizeof text.of, "%.10g %s", (up ? ceil(tenths) : floor(tenths)) / 10, units[i].name);
        return text;
    }
    snprintf(text.of, sizeof text.of, "%zu bytes", bytes);
    return text;
}

qb_status qb__device_no_room(size_t bytes, const qb__room *cap, const char *what, const char *remedy,
                             const qb_env *env) {
    const size_text need = size_text_of(bytes, true);
    char why[512];
    if (cap)
        return qb__fail(QB_NO_MEMORY, "%s %s on the device, and %s may be used: %s%s", what, need.of,
                        size_text_of(cap->device, false).of, env && env->max_vram ? "a larger --max-vram, " : "",
                        remedy);
    snprintf(why, sizeof why, "%s", qb_detail());
    return qb__fail(QB_NO_MEMORY, "%s %s on the device, which has no room for them (%s): %s", what, need.of, why,
                    remedy);
}

void qb__device_pick_report(const qb__device_pick *pick, const char *more, const qb_env *env) {
    const qb__device_info *info = qb__device_info_of(pick->device);
    qb__info(env, "device %s, %s: kernel %s%s", info->spec, info->name, pick->choice.variant->id, more);
}

void qb__device_pick_describe(const qb__device_pick *pick, size_t device_bytes, cJSON *plan) {
    const qb__device_info *info = qb__device_info_of(pick->device);
    const qb__variant *variant = pick->choice.variant;
    cJSON_AddStringToObject(plan, "kernel", variant->id);
    cJSON_AddStringToObject(plan, "accuracy", qb_accuracy_name(variant->accuracy));
    cJSON_AddStringToObject(plan, "device", info->spec);
    cJSON_AddStringToObject(plan, "device_name", info->name);
    cJSON_AddNumberToObject(plan, "device_memory_bytes", (double)device_bytes);
    cJSON_AddItemToObject(plan, "kernel_parameters", qb__parameters_json(variant, pick->choice.values));
    qb__report_why(&pick->question, plan);
}

/* ---- while it runs ---- */

void qb__device_pick_done(const qb__device_pick *pick, cJSON *report) {
    qb__compile_done(pick->set, report);
    qb__programs_note(pick->device, pick->choice.variant->id);
}
