/* SPDX-License-Identifier: MIT */
/* qb bench backproject --geometry cone on a device: data there, back-projection alone. */
#include "base/status.h"
#include "bench/bench_backproject.h"
#include "bench/cone_trial.h"
#include "planner/choose.h"

static void report(const qb__choice *choice, const qb__cone_result *r, const qb__bp_cone_problem *p,
                   const qb__device_info *info, cJSON *json) {
    const double updates = (double)(p->nx * p->ny) * (double)p->nz * (double)p->views;
    cJSON_AddStringToObject(json, "kernel", choice->variant->id);
    cJSON_AddItemToObject(json, "parameters", qb__parameters_json(choice->variant, choice->values));
    cJSON_AddNumberToObject(json, "seconds_median", r->seconds);
    cJSON_AddNumberToObject(json, "giga_updates_per_second", r->giga_updates);
    cJSON_AddNumberToObject(json, "gups", updates / r->seconds / 0x1p30);
    cJSON_AddNumberToObject(json, "views_per_launch", (double)r->block);
    cJSON_AddNumberToObject(json, "packing_seconds", r->pack_seconds);
    cJSON_AddNumberToObject(json, "predicted_seconds", choice->predicted);
    cJSON_AddStringToObject(json, "bottleneck", qb__unit_names[choice->bottleneck]);
    cJSON_AddNumberToObject(json, "share_of_prediction", choice->predicted / r->seconds);
    cJSON_AddNumberToObject(json, "rel_l2", r->rel_l2);
    cJSON_AddStringToObject(json, "device", info->name);
}

qb_status qb__bench_backproject_cone_device(const qb_bench_options *options,
                                            const qb__bp_cone_problem *sizes, qb__device *device,
                                            cJSON *result) {
    const qb__device_info *info = qb__device_info_of(device);
    qb__cone_trial *trial = NULL;
    qb__cone_result found;
    qb__choice choice;
    qb_status status;
    QB__TRY(qb__cone_trial_create(device, sizes, &trial));
    const qb__bp_cone_problem *problem = qb__cone_trial_problem(trial);
    QB__TRY(qb__choose(&(qb__question){.operation = QB__BP_CONE,
                                       .device = info,
                                       .problem = problem,
                                       .slices = 1,
                                       .accuracy = options->accuracy,
                                       .id = options->kernel},
                       &choice));
    QB__TRY(qb__cone_trial_run(trial, qb__bp_cone_on_device(choice.variant), choice.values,
                               options->repeat, &found));
    report(&choice, &found, problem, info, result);
out:
    qb__cone_trial_destroy(trial);
    return status;
}
