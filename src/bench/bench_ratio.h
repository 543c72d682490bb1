/* SPDX-License-Identifier: MIT */
#ifndef QB_BENCH_BENCH_RATIO_H
#define QB_BENCH_BENCH_RATIO_H

#include "cpu/bp_cone/bp_cone.h"
#include "cpu/bp_parallel/bp_parallel.h"

/* How many times faster than its scalar twin a variant is, on one thread: `slices` of a tile of the
 * problem, a few of its views. */
qb_status qb__bench_parallel_ratio(const qb__bp_parallel_problem *problem, const qb__bp_parallel_variant *variant,
                                   unsigned slices, double *ratio);

/* Seconds that each of `count` variants takes, on one thread and in turn, to add the problem's
 * views to one block in the grid's middle: medians of three. images[view][row][column]. For ratios,
 * not for speeds: the block is small enough for a scalar kernel. */
qb_status qb__bench_cone_block(const qb__bp_cone_problem *problem, const float *images,
                               const qb__bp_cone_variant *const *variants, size_t count, double *seconds);

/* The variant of the same kernel that needs no features of the CPU. */
const qb__bp_cone_variant *qb__bench_cone_scalar(const qb__bp_cone_variant *variant);

#endif
