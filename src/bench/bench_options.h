/* SPDX-License-Identifier: MIT */
#pragma once

#include "quickbeam/env.h"
#include "quickbeam/geometry.h"
#include "quickbeam/kernel.h"
#include "quickbeam/param.h"

/* For the command of the same build; not a part of the public interface. */

typedef struct qb_tool_bench_options {
    size_t struct_size; /* see qb_params_init */
    qb_beam geometry;
    qb_numbers size; /* NX,NY,NZ; empty = the benchmark's default */
    int views;
    qb_numbers detector; /* COLUMNS,ROWS; default: NX columns, NZ rows */
    qb_accuracy accuracy;
    qb_interp interp;
    char *kernel; /* id of a variant; NULL = the planner chooses */
    int repeat;
    char *reference; /* rabbitct: a file of uint16 HU to compare with; NULL = that of the data set */
} qb_tool_bench_options;
QB_API extern const qb_param qb_tool_bench_params[];

/* Measure `what` (backproject, filter, fbp, fdk, project, resident, mbir, io, mpi, rabbitct): a JSON object, released
 * with qb_text_free. `file` is rabbitct's data set, NULL for the others. Only mpi can be shared by ranks
 * (quickbeam/ranks.h) and is then collective: rank 0 has the result. */
QB_API qb_status qb_tool_bench(const char *what, const char *file, const qb_tool_bench_options *options,
                               const qb_env *env, char **json);
