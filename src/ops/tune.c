/* SPDX-License-Identifier: MIT */
/* qb tune: the best parameters of every device kernel, found by measuring. */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/status.h"
#include "ops/bench.h"
#include "ops/device_backproject.h"
#include "ops/device_select.h"
#include "ops/device_trial.h"
#include "ops/tuning.h"
#include "quickbeam/device.h"

const qb_param qb_tune_params[] = {
    {"kernel", QB_PARAM_TEXT, offsetof(qb_tune_options, kernel), "TEXT", NULL, NULL, 0, 0,
     "only kernels whose id contains TEXT", 0},
    {"seconds", QB_PARAM_DOUBLE, offsetof(qb_tune_options, seconds), "S", "60", NULL, 0.1, 86400,
     "time to spend on the device", 0},
    {"size", QB_PARAM_NUMBERS, offsetof(qb_tune_options, size), "NX[,NY,NZ]", "1024,1024,64", NULL,
     1, 16384, "voxels of the problem: NZ slices at a time", 0},
    {"views", QB_PARAM_INT, offsetof(qb_tune_options, views), "N", "1024", NULL, 1, 100000,
     "projections of the problem", 0},
    {0},
};

typedef struct search {
    qb__device_trial *trial;
    const qb__device_info *device;
    const qb__bp_parallel_device_variant *variant;
    unsigned slices;
    const qb_env *env;
    double deadline;
    int tried, wrong;
    qb__tuning_entry best; /* giga_updates 0 = nothing yet */
    double first;          /* giga-updates/s of the values that the search began with */
} search;

static double bound_of(qb__accuracy accuracy) {
    static const double bounds[] = {5e-5, 1e-3, 6e-3};
    return bounds[accuracy];
}

/* Measure one candidate; better than the best, and right: the new best. A candidate that does not
 * compile or run on this device is passed over. */
static qb_status try_values(search *s, const int *values) {
    const qb__bp_parallel_problem *problem = qb__device_trial_problem(s->trial);
    if (s->variant->unusable(s->device, problem, values)) return QB_OK;
    qb__device_result result;
    qb_status status = qb__check_cancel(s->env);
    if (status != QB_OK) return status;
    s->tried++;
    status = qb__device_trial_run(s->trial, s->variant, values, s->slices, 3, &result);
    if (status == QB_NO_DEVICE) return status; /* lost */
    if (status != QB_OK || !(result.rel_l2 < bound_of(s->variant->accuracy))) {
        s->wrong++;
        qb__warn(s->env, "%s: a candidate is left out: %s", s->variant->id,
                 status != QB_OK ? qb_detail() : "its error is above the bound");
        return QB_OK;
    }
    if (s->first == 0) s->first = result.giga_updates;
    if (result.giga_updates > s->best.giga_updates) {
        s->best.giga_updates = result.giga_updates;
        memcpy(s->best.values, values, sizeof s->best.values);
    }
    return QB_OK;
}

/* One parameter after the other, each at its best while the others stand; again until a whole round
 * brings nothing, or the time is over. */
static qb_status descend(search *s, const int *start) {
    qb_status status = try_values(s, start);
    bool better = true;
    while (status == QB_OK && better) {
        better = false;
        for (int p = 0; p < qb__parameter_count(s->variant); p++) {
            double before = s->best.giga_updates;
            int values[QB__PARAMETERS_MAX], held;
            memcpy(values, before > 0 ? s->best.values : start, sizeof values);
            held = values[p];
            for (int i = 0; i < s->variant->parameters[p].count && status == QB_OK; i++) {
                if (qb__bench_now() > s->deadline) return QB_OK;
                values[p] = s->variant->parameters[p].values[i];
                if (values[p] != held) status = try_values(s, values);
            }
            better |= s->best.giga_updates > before * 1.01;
        }
    }
    return status;
}

static qb_status tune_variant(search *s, cJSON *list) {
    const qb__bp_parallel_problem *problem = qb__device_trial_problem(s->trial);
    qb__device_choice start;
    cJSON *row = cJSON_CreateObject();
    cJSON_AddItemToArray(list, row);
    cJSON_AddStringToObject(row, "kernel", s->variant->id);
    const char *why = !(s->variant->apis & (unsigned)s->device->api)
                          ? "for another api"
                          : qb__device_estimate(s->variant, s->device, problem, s->slices, &start);
    if (why) {
        cJSON_AddStringToObject(row, "not_run", why);
        return QB_OK;
    }
    qb_status status = descend(s, start.values);
    if (status != QB_OK) return status;
    cJSON_AddNumberToObject(row, "tried", s->tried);
    cJSON_AddNumberToObject(row, "left_out", s->wrong);
    if (s->best.giga_updates == 0) return QB_OK;
    cJSON_AddItemToObject(row, "parameters", qb__parameters_json(s->variant, s->best.values));
    cJSON_AddNumberToObject(row, "giga_updates_per_second", s->best.giga_updates);
    cJSON_AddNumberToObject(row, "ratio_to_start", s->best.giga_updates / s->first);
    char name[QB__TUNING_NAME];
    qb__tuning_key key = {qb__tuning_device(s->device, name, sizeof name), s->variant->id,
                          s->slices, problem->columns};
    return qb__tuning_store(&key, &s->best);
}

/* Compiling takes its time too: what comes too late is not half done. */
static void add_unreached(const qb__bp_parallel_device_variant *variant, cJSON *list) {
    cJSON *row = cJSON_CreateObject();
    cJSON_AddItemToArray(list, row);
    cJSON_AddStringToObject(row, "kernel", variant->id);
    cJSON_AddStringToObject(row, "not_run", "the time was over: give more --seconds");
}

static qb_status tune_all(const qb_tune_options *options, const qb_env *env, qb__device *device,
                          cJSON *list) {
    size_t count, wanted = 0, done = 0;
    const qb__bp_parallel_device_variant *const *rows = qb__bp_parallel_device_variants(&count);
    size_t n[3] = {1024, 1024, 64};
    for (int i = 0; i < options->size.count && i < 3; i++) n[i] = (size_t)options->size.value[i];
    if (options->size.count == 1) n[1] = n[0];
    qb__device_trial *trial = NULL;
    qb_status status;
    QB__TRY(qb__device_trial_create(device, (size_t)options->views, n[0], n[0], n[1],
                                    (unsigned)n[2], &trial));
    for (size_t i = 0; i < count; i++)
        wanted += !options->kernel || strstr(rows[i]->id, options->kernel);
    if (wanted == 0) {
        status = qb__fail(QB_BAD_ARGUMENT, "--kernel %s: no device kernel's id contains that",
                          options->kernel);
        goto out;
    }
    double end = qb__bench_now() + options->seconds;
    for (size_t i = 0; i < count; i++) {
        if (options->kernel && !strstr(rows[i]->id, options->kernel)) continue;
        double now = qb__bench_now();
        if (now > end) {
            add_unreached(rows[i], list);
            continue;
        }
        search s = {.trial = trial,
                    .device = qb__device_info_of(device),
                    .variant = rows[i],
                    .slices = (unsigned)n[2],
                    .env = env,
                    .deadline = now + (end - now) / (double)(wanted - done)};
        QB__TRY(tune_variant(&s, list));
        qb__progress(env, "tuning", ++done, wanted);
    }
out:
    qb__device_trial_destroy(trial);
    return status;
}

qb_status qb_tune(const qb_tune_options *options, const qb_env *env, char **json) {
    qb__device_set set;
    *json = NULL;
    qb_status status = qb__device_set_open(env, &set);
    if (status != QB_OK) return status;
    if (set.count == 0)
        return qb__fail(
            QB_NO_DEVICE,
            "there is no GPU to tune; a device is named by --device cuda or opencl, and qb "
            "devices lists them");
    cJSON *root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "device", qb__device_info_of(set.device[0])->name);
    cJSON_AddStringToObject(root, "file", qb__tuning_path());
    cJSON *list = cJSON_AddArrayToObject(root, "kernels");
    status = tune_all(options, env, set.device[0], list);
    if (status == QB_OK) *json = cJSON_Print(root);
    if (status == QB_OK && !*json) status = qb__fail(QB_NO_MEMORY, "no memory for the result");
    cJSON_Delete(root);
    qb__device_set_close(&set);
    return status;
}
