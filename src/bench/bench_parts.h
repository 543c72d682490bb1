/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/json.h"
#include "bench/bench_options.h"
#include "bench/trial/trial.h"
#include "device/device.h"

/* Preparing and filtering rows, compared with the transforms alone. */
qb_status qb__bench_filter(const qb_tool_bench_options *options, const qb_env *env, cJSON *result);
/* Filtering on the device that env names, by each method, compared with a copy of its memory; else qb__bench_filter. */
qb_status qb__bench_filter_anywhere(const qb_tool_bench_options *options, const qb_env *env, cJSON *result);
/* Filtered back-projection of data that stay in a device's memory. */
qb_status qb__bench_resident(const qb_tool_bench_options *options, const qb_env *env, cJSON *result);
/* A whole reconstruction, file to file in the temporary folder ($TMPDIR), from the page cache. */
qb_status qb__bench_fbp(const qb_tool_bench_options *options, const qb_env *env, cJSON *result);
/* A whole reconstruction of a cone beam, 16-bit TIFF to MHA. */
qb_status qb__bench_fdk(const qb_tool_bench_options *options, const qb_env *env, cJSON *result);
/* Forward projection and its adjoint of a cone beam. */
qb_status qb__bench_project(const qb_tool_bench_options *options, const qb_env *env, cJSON *result);
/* Model-based reconstruction: slices per second to within 10 HU of 40 equits, and the system matrix. */
qb_status qb__bench_mbir(const qb_tool_bench_options *options, const qb_env *env, cJSON *result);
/* Combined rates of several ranks: exchanges, files, filter and back-projection, and the rates of planner/cluster.h. */
qb_status qb__bench_mpi(const qb_tool_bench_options *options, const qb_env *env, cJSON *result);
/* The RabbitCT benchmark on one of its data sets, in either layout. */
qb_status qb__bench_rabbitct(const char *file, const qb_tool_bench_options *options, const qb_env *env, cJSON *result);
/* Writing and reading a volume of the given size, in each format. */
qb_status qb__bench_io(const qb_tool_bench_options *options, const qb_env *env, cJSON *result);

/* Back-projection of noise by the fastest kernels (see bench/notes/cpu.md for the figures). */
qb_status qb__bench_backproject(const qb_tool_bench_options *options, const qb_env *env, cJSON *result);
qb_status qb__bench_backproject_cone(const qb_tool_bench_options *options, const qb_env *env, cJSON *result);

/* ---- shared by the benchmarks of kernels (bench_trial.c) ---- */

/* Sizes from --size, --views and --detector. Defaults: `slices` slices (0: NX), NY and columns as NX, rows as
 * slices. */
qb__trial_sizes qb__bench_sizes(const qb_tool_bench_options *options, size_t slices);
/* The kernel with that id (NULL: the fastest with the accuracy asked for) for a trial. */
qb_status qb__bench_choose(const qb__trial *trial, const qb_tool_bench_options *options, const char *id,
                           qb__choice *choice);
/* Run on the device that env names, else on the CPU. */
typedef qb_status qb__bench_on_device(const qb_tool_bench_options *options, qb__device *device, const qb_env *env,
                                      cJSON *result);
typedef qb_status qb__bench_on_cpu(const qb_tool_bench_options *options, const qb_env *env, cJSON *result);
qb_status qb__bench_either(const qb_tool_bench_options *options, qb__bench_on_device *on_device,
                           qb__bench_on_cpu *on_cpu, const qb_env *env, cJSON *result);
double qb__bench_number(const cJSON *object, const char *name); /* 0 if it is missing */
/* Lower limit of a run's time, from its report: the larger of all CPU seconds / threads and of the slowest stage alone.
 * For a stage these are its CPU seconds on all threads, or on its own thread for I/O; for a device the seconds with a
 * chunk in work. */
double qb__bench_bound(const cJSON *report);
/* Add qb__bench_bound and its parts to the result: stage_seconds_alone, cpu_seconds, bound_seconds. */
void qb__bench_add_stages(const cJSON *report, cJSON *result);
