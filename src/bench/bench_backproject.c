/* SPDX-License-Identifier: MIT */
/* qb bench backproject: noise, back-projected by the fastest kernel with the accuracy asked for, on a device whose
 * memory holds the data or by all threads of the CPU; checked against the oracle. For a cone beam on the CPU, the
 * fastest kernel for a circle and the fastest for any matrix. */
#include "base/log.h"
#include "base/status.h"
#include "bench/bench_parts.h"
#include "bench/trial/trial.h"
#include "cpu/features.h"

typedef struct bench {
    const qb_tool_bench_options *options;
    const qb_env *env;
    bool cone;
    qb__device *device; /* NULL: the CPU */
    qb__trial_sizes sizes;
    qb__trial *trial;
} bench;

static void report_device(const bench *b, const qb__choice *choice, const qb__trial_result *r, double slices,
                          cJSON *json) {
    const qb__trial_sizes *s = &b->sizes;
    const double bytes = 4.0 * (double)s->columns * (double)s->views * slices + (double)r->packed_bytes;
    cJSON_AddItemToObject(json, "parameters", qb__parameters_json(choice->variant, choice->values));
    if (b->cone)
        cJSON_AddNumberToObject(json, "views_per_launch", (double)r->block);
    else
        cJSON_AddNumberToObject(json, "packing_gigabytes_per_second", bytes / r->pack_seconds * 1e-9);
    cJSON_AddNumberToObject(json, "predicted_seconds", choice->predicted);
    cJSON_AddStringToObject(json, b->cone ? "bottleneck" : "predicted_bottleneck", qb__unit_names[choice->bottleneck]);
    cJSON_AddNumberToObject(json, "share_of_prediction", choice->predicted / r->seconds);
    cJSON_AddStringToObject(json, "device", qb__device_info_of(b->device)->name);
}

static void report(const bench *b, const qb__choice *choice, const qb__trial_result *r, double slices, cJSON *json) {
    const qb__trial_sizes *s = &b->sizes;
    const double gups = (double)(s->nx * s->ny) * slices * (double)s->views / r->seconds / 0x1p30;
    const int threads = b->device ? 1 : qb__pool_threads(s->pool);
    cJSON_AddStringToObject(json, "kernel", choice->variant->id);
    if (!b->cone) cJSON_AddNumberToObject(json, "slices", slices);
    if (!b->device) cJSON_AddNumberToObject(json, "threads", threads);
    cJSON_AddNumberToObject(json, "seconds_median", r->seconds);
    cJSON_AddNumberToObject(json, "giga_updates_per_second", r->giga_updates);
    if (b->cone) cJSON_AddNumberToObject(json, "gups", gups);
    if (!b->device && b->cone) cJSON_AddNumberToObject(json, "gups_per_thread", gups / threads);
    if (!b->device && !b->cone)
        cJSON_AddNumberToObject(json, "giga_updates_per_second_per_thread", r->giga_updates / threads);
    cJSON_AddNumberToObject(json, "packing_seconds", r->pack_seconds);
    cJSON_AddNumberToObject(json, "rel_l2", r->rel_l2);
    if (b->device) report_device(b, choice, r, slices, json);
}

static qb_status time_kernel(const bench *b, qb__choice *choice, cJSON *json) {
    const qb__variant *v = choice->variant;
    const size_t nz = b->sizes.nz, slices = !b->cone && v->most && nz > v->most ? v->most : nz; /* slices of a pass */
    qb__trial_result found;
    if (slices < nz) choice->predicted *= (double)slices / qb__variant_padded(v, (unsigned)nz);
    const qb_status status =
        qb__trial_run(b->trial, v, choice->values, b->cone ? 1 : (unsigned)slices, b->options->repeat, &found);
    if (status == QB_OK) report(b, choice, &found, (double)slices, json);
    return status;
}

/* Time one kernel: that of --kernel, or the best of a family; *found counts the kernels that were timed. */
static qb_status time_choice(const bench *b, const char *family, int *found, cJSON *json) {
    qb__question question = qb__trial_question(b->trial);
    qb__choice choice;
    question.interp = b->options->interp;
    question.accuracy = b->options->accuracy;
    question.id = b->options->kernel;
    question.family = family;
    qb_status status = qb__choose(&question, &choice);
    if (status != QB_OK) return family ? QB_OK : status;
    cJSON *row = json;
    if ((*found)++) {
        row = cJSON_CreateObject();
        cJSON_AddItemToArray(cJSON_AddArrayToObject(json, "also"), row);
    }
    status = qb__check_cancel(b->env);
    return status == QB_OK ? time_kernel(b, &choice, row) : status;
}

static qb_status run(bench *b, cJSON *json) {
    const bool families = b->cone && !b->device && !b->options->kernel;
    int found = 0;
    qb_status status;
    QB__TRY(qb__trial_create(b->cone ? QB__BP_CONE : QB__BP_PARALLEL, b->device, &b->sizes, &b->trial));
    if (families) QB__TRY(time_choice(b, "bp_cone_circular.", &found, json));
    if (families) QB__TRY(time_choice(b, "bp_cone_matrix.", &found, json));
    if (!found) QB__TRY(time_choice(b, NULL, &found, json));
    if (!b->device) cJSON_AddStringToObject(json, "cpu", qb__cpu_name());
out:
    qb__trial_destroy(b->trial);
    return status;
}

static qb_status backproject(const qb_tool_bench_options *options, bool cone, qb__device *device, const qb_env *env,
                             cJSON *json) {
    bench b = {.options = options, .env = env, .cone = cone, .device = device};
    qb_status status;
    b.sizes = qb__bench_sizes(options, cone ? 0 : 64);
    if (!device) QB__TRY(qb__pool_create(env ? env->threads : 0, &b.sizes.pool));
    status = run(&b, json);
out:
    qb__pool_destroy(b.sizes.pool);
    return status;
}

static qb_status parallel_device(const qb_tool_bench_options *o, qb__device *device, const qb_env *env, cJSON *json) {
    return backproject(o, false, device, env, json);
}

static qb_status parallel_cpu(const qb_tool_bench_options *o, const qb_env *env, cJSON *json) {
    return backproject(o, false, NULL, env, json);
}

static qb_status cone_device(const qb_tool_bench_options *o, qb__device *device, const qb_env *env, cJSON *json) {
    return backproject(o, true, device, env, json);
}

static qb_status cone_cpu(const qb_tool_bench_options *o, const qb_env *env, cJSON *json) {
    return backproject(o, true, NULL, env, json);
}

qb_status qb__bench_backproject(const qb_tool_bench_options *options, const qb_env *env, cJSON *result) {
    return qb__bench_either(options, parallel_device, parallel_cpu, env, result);
}

qb_status qb__bench_backproject_cone(const qb_tool_bench_options *options, const qb_env *env, cJSON *result) {
    return qb__bench_either(options, cone_device, cone_cpu, env, result);
}
