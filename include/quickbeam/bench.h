/* SPDX-License-Identifier: MIT */
#ifndef QUICKBEAM_BENCH_H
#define QUICKBEAM_BENCH_H

#include "quickbeam/env.h"
#include "quickbeam/geometry.h"
#include "quickbeam/kernel.h"
#include "quickbeam/param.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct qb_bench_options {
    size_t struct_size;  /* see qb_params_init */
    qb_beam geometry;    /* not said: parallel */
    qb_numbers size;     /* NX,NY,NZ; none = what suits the benchmark */
    int views;
    qb_numbers detector; /* COLUMNS,ROWS; columns default to NX, rows to NZ */
    qb_accuracy accuracy;
    qb_interp interp;
    char *kernel;        /* a variant's id; NULL = the planner's choice */
    int repeat;
    char *reference;     /* rabbitct: a file of uint16 HU to compare with; NULL = the data set's own */
} qb_bench_options;
QB_API extern const qb_param qb_bench_params[];

/* Time `what` (backproject, filter, fbp, fdk, resident, mbir, io, rabbitct): a JSON object, released with
 * qb_text_free. `file` is rabbitct's data set, NULL for the others. */
QB_API qb_status qb_bench(const char *what, const char *file, const qb_bench_options *options,
                          const qb_env *env, char **json);

#ifdef __cplusplus
}
#endif
#endif
