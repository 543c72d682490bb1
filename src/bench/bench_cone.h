/* SPDX-License-Identifier: MIT */
#ifndef QB_BENCH_BENCH_CONE_H
#define QB_BENCH_BENCH_CONE_H

#include "base/json.h"
#include "cpu/bp_cone/bp_cone.h"
#include "quickbeam/bench.h"

/* Seconds that each of `count` variants takes, on one thread and in turn, to add the problem's
 * views to one block in the grid's middle: medians of three. images[view][row][column]. For ratios,
 * not for speeds: the block is small enough for a scalar kernel. */
qb_status qb__bench_cone_block(const qb__bp_cone_problem *problem, const float *images,
                               const qb__bp_cone_variant *const *variants, size_t count,
                               double *seconds);

/* The variant of the same kernel that needs no features of the CPU. */
const qb__bp_cone_variant *qb__bench_cone_scalar(const qb__bp_cone_variant *variant);

qb_status qb__bench_backproject_cone(const qb_bench_options *options, const qb_env *env,
                                     cJSON *result);

#endif
