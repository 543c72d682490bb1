/* SPDX-License-Identifier: MIT */
/* qb bench backproject on a device. */
#include "base/status.h"
#include "bench/bench_backproject.h"
#include "bench/device_trial.h"
#include "planner/choose.h"

static void report(const qb__choice *choice, const qb__device_result *result, unsigned slices,
                   const qb__device_info *info, const qb__bp_parallel_problem *problem,
                   cJSON *json) {
    cJSON_AddStringToObject(json, "kernel", choice->variant->id);
    cJSON_AddItemToObject(json, "parameters", qb__parameters_json(choice->variant, choice->values));
    cJSON_AddNumberToObject(json, "slices", slices);
    cJSON_AddNumberToObject(json, "seconds_median", result->seconds);
    cJSON_AddNumberToObject(json, "giga_updates_per_second", result->giga_updates);
    cJSON_AddNumberToObject(json, "packing_seconds", result->pack_seconds);
    cJSON_AddNumberToObject(json, "packing_gigabytes_per_second",
                            (4.0 * (double)problem->columns * (double)problem->views * slices +
                             (double)result->packed_bytes) /
                                result->pack_seconds * 1e-9);
    cJSON_AddNumberToObject(json, "predicted_seconds", choice->predicted);
    cJSON_AddStringToObject(json, "predicted_bottleneck", qb__unit_names[choice->bottleneck]);
    cJSON_AddNumberToObject(json, "share_of_prediction", choice->predicted / result->seconds);
    cJSON_AddNumberToObject(json, "rel_l2", result->rel_l2);
    cJSON_AddStringToObject(json, "device", info->name);
}

qb_status qb__bench_backproject_device(const qb_bench_options *options, qb__device *device,
                                       cJSON *json) {
    size_t n[3] = {1024, 1024, 64};
    for (int i = 0; i < options->size.count && i < 3; i++) n[i] = (size_t)options->size.value[i];
    if (options->size.count == 1) n[1] = n[0];
    size_t columns = options->detector.count ? (size_t)options->detector.value[0] : n[0];
    const qb__device_info *info = qb__device_info_of(device);
    qb__device_trial *trial = NULL;
    qb__choice choice;
    qb__device_result result;
    qb_status status;
    QB__TRY(qb__device_trial_create(device, (size_t)options->views, columns, n[0], n[1],
                                    (unsigned)n[2], &trial));
    const qb__bp_parallel_problem *problem = qb__device_trial_problem(trial);
    QB__TRY(qb__choose(&(qb__question){.operation = QB__BP_PARALLEL,
                                       .device = info,
                                       .problem = problem,
                                       .slices = n[2],
                                       .interp = options->interp,
                                       .accuracy = options->accuracy,
                                       .id = options->kernel},
                       &choice));
    unsigned slices = (unsigned)n[2], most = choice.variant->most;
    if (most && slices > most) {
        choice.predicted *= (double)most / qb__variant_padded(choice.variant, slices);
        slices = most;
    }
    QB__TRY(qb__device_trial_run(trial, qb__bp_parallel_on_device(choice.variant), choice.values,
                                 slices, options->repeat, &result));
    report(&choice, &result, slices, info, problem, json);
out:
    qb__device_trial_destroy(trial);
    return status;
}
