/* SPDX-License-Identifier: MIT */
/* Compiling kernels takes seconds at their first use: it is announced, timed and reported. */
#include "base/log.h"
#include "planner/device_select.h"

static void say(void *user, const qb__device_info *info) {
    qb__device_set *set = user;
    if (!atomic_exchange(&set->told, true)) qb__info(set->env, "compiling kernels for %s", info->spec);
}

void qb__compile_watch(qb__device_set *set, const qb_env *env) {
    static const qb_env silent;
    qb__compile_done(set, NULL);
    set->env = env ? env : &silent;
    atomic_store(&set->told, false);
    for (int i = 0; i < set->count; i++) {
        set->before[i] = qb__device_builds(set->device[i]);
        qb__device_listen(set->device[i], say, set);
    }
}

void qb__compile_done(qb__device_set *set, cJSON *report) {
    unsigned programs = 0, kept = 0;
    double seconds = 0;
    const char *folder = qb__program_cache_folder(), *how = "";
    if (!set->env) return;
    for (int i = 0; i < set->count; i++) {
        const qb__builds now = qb__device_builds(set->device[i]);
        qb__device_unlisten(set->device[i], set);
        programs += now.programs - set->before[i].programs;
        kept += now.kept - set->before[i].kept;
        seconds += now.seconds - set->before[i].seconds;
    }
    /* Folder where the next run finds them. */
    if (kept == programs)
        how = "kept in ";
    else
        how = *folder ? "not kept: no writing to " : "not kept: there is no folder for them";
    if (programs)
        qb__info(set->env, "compiled %u kernel%s for %s%s in %.2f s, %s%s", programs, programs == 1 ? "" : "s",
                 qb__device_info_of(set->device[0])->spec, set->count > 1 ? " and the others" : "", seconds, how,
                 folder);
    set->env = NULL;
    if (!report || set->count == 0) return;
    cJSON *entry = cJSON_AddObjectToObject(report, "compile");
    cJSON_AddNumberToObject(entry, "kernels", programs);
    cJSON_AddNumberToObject(entry, "seconds", seconds);
    cJSON_AddStringToObject(entry, "folder", kept == programs ? folder : "");
}
