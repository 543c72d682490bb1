/* SPDX-License-Identifier: MIT */
/* What the benchmarks of a kernel share: their sizes, whether a device or the CPU runs, and back-projection on a device. */
#include "base/status.h"
#include "bench/bench_parts.h"
#include "planner/device_select.h"
#include "planner/tuning.h"

static size_t number(const qb_numbers *numbers, int index, size_t otherwise) {
    return index < numbers->count ? (size_t)numbers->value[index] : otherwise;
}

qb__trial_sizes qb__bench_sizes(const qb_tool_bench_options *o, size_t slices) {
    const size_t nx = number(&o->size, 0, 0), nz = number(&o->size, 2, slices ? slices : nx);
    return (qb__trial_sizes){.views = (size_t)o->views,
                             .columns = number(&o->detector, 0, nx),
                             .rows = number(&o->detector, 1, nz),
                             .nx = nx,
                             .ny = number(&o->size, 1, nx),
                             .nz = nz};
}

qb_status qb__bench_choose(const qb__trial *trial, const qb_tool_bench_options *options, const char *id,
                           qb__choice *choice) {
    qb__question question = qb__trial_question(trial);
    question.interp = options->interp;
    question.accuracy = options->accuracy;
    question.id = id;
    return qb__choose(&question, choice);
}

qb_status qb__bench_either(const qb_tool_bench_options *options, qb__bench_on_device *on_device,
                           qb__bench_on_cpu *on_cpu, const qb_env *env, cJSON *result) {
    qb__device_set set;
    qb_status status = qb__device_set_open(env, &set);
    if (status != QB_OK) return status;
    if (set.count) qb__tuning_warn(env);
    qb__compile_watch(&set, env);
    status = set.count ? on_device(options, set.device[0], env, result) : on_cpu(options, env, result);
    qb__compile_done(&set, result);
    qb__device_set_close(&set);
    return status;
}

/* ---- back-projection on a device ---- */

static void report(const qb__choice *choice, const qb__trial_result *r, const qb__trial_sizes *s, bool cone,
                   const qb__device_info *info, cJSON *json) {
    const double updates = (double)(s->nx * s->ny) * (double)s->nz * (double)s->views;
    cJSON_AddStringToObject(json, "kernel", choice->variant->id);
    cJSON_AddItemToObject(json, "parameters", qb__parameters_json(choice->variant, choice->values));
    if (!cone) cJSON_AddNumberToObject(json, "slices", (double)s->nz);
    cJSON_AddNumberToObject(json, "seconds_median", r->seconds);
    cJSON_AddNumberToObject(json, "giga_updates_per_second", r->giga_updates);
    if (cone) cJSON_AddNumberToObject(json, "gups", updates / r->seconds / 0x1p30);
    if (cone) cJSON_AddNumberToObject(json, "views_per_launch", (double)r->block);
    cJSON_AddNumberToObject(json, "packing_seconds", r->pack_seconds);
    if (!cone)
        cJSON_AddNumberToObject(
            json, "packing_gigabytes_per_second",
            (4.0 * (double)s->columns * (double)s->views * (double)s->nz + (double)r->packed_bytes) / r->pack_seconds *
                1e-9);
    cJSON_AddNumberToObject(json, "predicted_seconds", choice->predicted);
    cJSON_AddStringToObject(json, cone ? "bottleneck" : "predicted_bottleneck", qb__unit_names[choice->bottleneck]);
    cJSON_AddNumberToObject(json, "share_of_prediction", choice->predicted / r->seconds);
    cJSON_AddNumberToObject(json, "rel_l2", r->rel_l2);
    cJSON_AddStringToObject(json, "device", info->name);
}

qb_status qb__bench_backproject_device(const qb_tool_bench_options *options, qb__operation operation,
                                       const qb__trial_sizes *given, qb__device *device, cJSON *result) {
    const bool cone = operation == QB__BP_CONE;
    qb__trial_sizes sizes = *given;
    qb__trial *trial = NULL;
    qb__trial_result found;
    qb__choice choice;
    qb_status status;
    QB__TRY(qb__trial_create(operation, device, &sizes, &trial));
    QB__TRY(qb__bench_choose(trial, options, options->kernel, &choice));
    const unsigned most = choice.variant->most;
    if (!cone && most && sizes.nz > most) { /* slices of a pass */
        choice.predicted *= (double)most / qb__variant_padded(choice.variant, (unsigned)sizes.nz);
        sizes.nz = most;
    }
    QB__TRY(
        qb__trial_run(trial, choice.variant, choice.values, cone ? 1 : (unsigned)sizes.nz, options->repeat, &found));
    report(&choice, &found, &sizes, cone, qb__device_info_of(device), result);
out:
    qb__trial_destroy(trial);
    return status;
}
