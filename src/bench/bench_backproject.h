/* SPDX-License-Identifier: MIT */
#ifndef QB_BENCH_BENCH_BACKPROJECT_H
#define QB_BENCH_BENCH_BACKPROJECT_H

#include "base/json.h"
#include "base/pool.h"
#include "cpu/bp_cone/bp_cone.h"
#include "cpu/bp_parallel/bp_parallel.h"
#include "device/device.h"
#include "bench/bench_options.h"

/* Fills `result`; see bench/notes/cpu.md for what the figures mean. */
qb_status qb__bench_backproject(const qb_tool_bench_options *options, const qb_env *env, cJSON *result);

/* Back-projection of a cone beam. */
qb_status qb__bench_backproject_cone(const qb_tool_bench_options *options, const qb_env *env, cJSON *result);
qb_status qb__bench_backproject_cone_device(const qb_tool_bench_options *options, const qb__bp_cone_problem *sizes,
                                            qb__device *device, cJSON *result);

#endif
