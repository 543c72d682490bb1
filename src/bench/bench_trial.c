/* SPDX-License-Identifier: MIT */
/* The common part of the benchmarks of kernels: their sizes, and the choice between a device and the CPU. */
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
    QB__OR_RETURN(qb__device_set_open(env, &set));
    if (set.count) qb__tuning_warn(env);
    qb__compile_watch(&set, env);
    const qb_status status = set.count ? on_device(options, set.device[0], env, result) : on_cpu(options, env, result);
    qb__compile_done(&set, result);
    qb__device_set_close(&set);
    return status;
}
