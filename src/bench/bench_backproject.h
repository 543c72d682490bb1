/* SPDX-License-Identifier: MIT */
#ifndef QB_BENCH_BENCH_BACKPROJECT_H
#define QB_BENCH_BENCH_BACKPROJECT_H

#include "base/json.h"
#include "base/pool.h"
#include "cpu/bp_parallel/bp_parallel.h"
#include "device/device.h"
#include "quickbeam/bench.h"

/* Fills `result`; see docs/performance.md for what the figures mean. */
qb_status qb__bench_backproject(const qb_bench_options *options, const qb_env *env, cJSON *result);

/* The same on a device. */
qb_status qb__bench_backproject_device(const qb_bench_options *options, qb__device *device,
                                       cJSON *result);

/* How many times faster than its scalar twin a variant is, on one thread: `slices` of a tile of the
 * problem, a few of its views. */
qb_status qb__bench_parallel_ratio(const qb__bp_parallel_problem *problem,
                                   const qb__bp_parallel_variant *variant, unsigned slices,
                                   double *ratio);

#endif
