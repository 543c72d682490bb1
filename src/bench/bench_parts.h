/* SPDX-License-Identifier: MIT */
#ifndef QB_BENCH_BENCH_PARTS_H
#define QB_BENCH_BENCH_PARTS_H

#include "base/json.h"
#include "bench/bench_options.h"
#include "bench/trial/trial.h"
#include "device/device.h"

/* Preparing and filtering rows, beside the bare transforms that filtering contains. */
qb_status qb__bench_filter(const qb_tool_bench_options *options, const qb_env *env, cJSON *result);
/* Filtering on the device that env names, by each of its methods, compared with a copy of its memory; else qb__bench_filter. */
qb_status qb__bench_filter_anywhere(const qb_tool_bench_options *options, const qb_env *env, cJSON *result);
/* Filtered back-projection of data that are in a device's memory and stay there. */
qb_status qb__bench_resident(const qb_tool_bench_options *options, const qb_env *env, cJSON *result);
/* A whole reconstruction, file to file in the temporary folder ($TMPDIR), from the page cache. */
qb_status qb__bench_fbp(const qb_tool_bench_options *options, const qb_env *env, cJSON *result);
/* A whole reconstruction of a cone beam, 16-bit TIFF to MHA. */
qb_status qb__bench_fdk(const qb_tool_bench_options *options, const qb_env *env, cJSON *result);
/* Forward projection and its adjoint of a cone beam. */
qb_status qb__bench_project(const qb_tool_bench_options *options, const qb_env *env, cJSON *result);
/* Model-based reconstruction: slices a second to within 10 HU of 40 equits, and the system matrix. */
qb_status qb__bench_mbir(const qb_tool_bench_options *options, const qb_env *env, cJSON *result);
/* What several ranks give together: exchanges, files, filter and back-projection, and the rates of planner/cluster.h. */
qb_status qb__bench_mpi(const qb_tool_bench_options *options, const qb_env *env, cJSON *result);
/* The RabbitCT benchmark on one of its data sets, in either layout. */
qb_status qb__bench_rabbitct(const char *file, const qb_tool_bench_options *options, const qb_env *env, cJSON *result);
/* Writing and reading a volume of the size asked for, in each format. */
qb_status qb__bench_io(const qb_tool_bench_options *options, const qb_env *env, cJSON *result);

/* Back-projection of noise alone, by the fastest kernels (bench/notes/cpu.md says what the figures mean). */
qb_status qb__bench_backproject(const qb_tool_bench_options *options, const qb_env *env, cJSON *result);
qb_status qb__bench_backproject_cone(const qb_tool_bench_options *options, const qb_env *env, cJSON *result);

/* ---- what benchmarks of kernels share (bench_trial.c) ---- */

/* The sizes that --size, --views and --detector give. Missing ones: as many slices as `slices` (0: NX), NY and columns NX,
 * rows as many as slices. */
qb__trial_sizes qb__bench_sizes(const qb_tool_bench_options *options, size_t slices);
/* The kernel with that id (NULL: the fastest that keeps the accuracy) for a trial. */
qb_status qb__bench_choose(const qb__trial *trial, const qb_tool_bench_options *options, const char *id,
                           qb__choice *choice);
/* Run on the device that env names, else on the CPU. */
typedef qb_status qb__bench_on_device(const qb_tool_bench_options *options, qb__device *device, const qb_env *env,
                                      cJSON *result);
typedef qb_status qb__bench_on_cpu(const qb_tool_bench_options *options, const qb_env *env, cJSON *result);
qb_status qb__bench_either(const qb_tool_bench_options *options, qb__bench_on_device *on_device,
                           qb__bench_on_cpu *on_cpu, const qb_env *env, cJSON *result);
double qb__bench_number(const cJSON *object, const char *name); /* 0 when it is not there */
/* The least a run could have taken, from its report: the larger of all CPU seconds / threads and of the
 * slowest stage alone: its CPU seconds on all threads, or on its own thread when it is I/O; the seconds
 * that a device had a chunk in hand. */
double qb__bench_bound(const cJSON *report);
/* Add qb__bench_bound and its parts to the result: stage_seconds_alone, cpu_seconds, bound_seconds. */
void qb__bench_add_stages(const cJSON *report, cJSON *result);

#endif
