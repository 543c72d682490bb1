/* SPDX-License-Identifier: MIT */
#ifndef QB_OPS_BENCH_H
#define QB_OPS_BENCH_H

#include <cjson/cJSON.h>

#include "base/pool.h"
#include "cpu/bp_parallel.h"
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

double qb__bench_now(void); /* monotonic seconds */
/* Middle of count values, which are sorted on the way. */
double qb__median(double *values, size_t count);
/* White noise in -1..1 from a seed, the same everywhere. */
void qb__noise(float *values, size_t count, unsigned long long seed);
/* The views of a problem: half a turn in even steps, pixels and voxels of 1 mm, the axis in the
 * middle. *coefficients is what the problem then points at: the caller's to free, also on failure.
 */
qb_status qb__bench_half_turn(qb__bp_parallel_problem *problem, double **coefficients);

#endif
