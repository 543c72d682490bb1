/* SPDX-License-Identifier: MIT */
/* qb bench backproject --geometry cone on a device: data there, back-projection alone. */
#include "base/status.h"
#include "bench/bench_backproject.h"
#include "bench/trial/trial.h"
#include "planner/choose.h"

static void report(const qb__choice *choice, const qb__trial_result *r, const qb__bp_cone_problem *p,
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

/* A trial of these sizes, and the kernel that the options mean for it; destroy the trial, also after a failure. */
static qb_status make_trial(const qb_tool_bench_options *options, qb__device *device, const qb__bp_cone_problem *of,
                            qb__trial **trial, qb__choice *choice) {
    const qb__trial_sizes sizes = {of->views, of->columns, of->rows, of->nx, of->ny, of->nz, false};
    qb_status status = qb__trial_create(QB__BP_CONE, device, &sizes, trial);
    if (status != QB_OK) return status;
    qb__question question = qb__trial_question(*trial);
    question.accuracy = options->accuracy;
    question.id = options->kernel;
    return qb__choose(&question, choice);
}

qb_status qb__bench_backproject_cone_device(const qb_tool_bench_options *options, const qb__bp_cone_problem *sizes,
                                            qb__device *device, cJSON *result) {
    const qb__device_info *info = qb__device_info_of(device);
    qb__trial *trial = NULL;
    qb__trial_result found;
    qb__choice choice;
    qb_status status;
    QB__TRY(make_trial(options, device, sizes, &trial, &choice));
    QB__TRY(qb__trial_run(trial, choice.variant, choice.values, 1, options->repeat, &found));
    report(&choice, &found, sizes, info, result);
out:
    qb__trial_destroy(trial);
    return status;
}
