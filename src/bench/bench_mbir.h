/* SPDX-License-Identifier: MIT */
#ifndef QB_BENCH_BENCH_MBIR_H
#define QB_BENCH_BENCH_MBIR_H

#include "base/pool.h"
#include "bench/bench_parts.h"
#include "geometry/phantom.h"
#include "planner/choose.h"
#include "planner/device_select.h"
#include "recon/mbir/icd/icd_bands.h"
#include "recon/mbir/mbir.h"

enum { QB__MBIR_GOLDEN = 40 };                  /* equits of the image to compare with */
static const double qb__mbir_close_enough = 10; /* Hounsfield units */

/* Noisy slices of a phantom that descend twice: to the image to compare with, and to within 10 HU of it. */
typedef struct qb__mbir_bench {
    qb__device_set set; /* empty: the CPU descends */
    qb__choice choice;  /* of the device's kernel */
    qb_geometry geometry;
    qb_grid grid;
    qb__phantom *phantom; /* [phantoms]: one of all slices, or each slice has its own */
    size_t phantoms;
    double water;   /* attenuation of a voxel's side of it */
    uint64_t noise; /* seed */
    qb__system_matrix matrix;
    qb__icd_settings settings;
    qb__pool *pool;
    qb__filter *filter;
    double *theta;
    float *lines; /* [view][slice][column] */
    char **scratch;
    double **row;  /* [thread][columns] */
    float *golden; /* [slice][y][x] */
    /* of a timed run */
    double begun, watched, start, seconds, equits, rmse;
    double *apart, *reached; /* [slice] HU to golden, and the equits after which that was little enough; NAN */
} qb__mbir_bench;

/* `width` is the field's in mm. What is made is released with qb__mbir_bench_release, also after a failure. */
qb_status qb__mbir_bench_make(const qb_tool_bench_options *o, const qb_env *env, double width, qb__mbir_bench *b);
/* All of it of a foam, a bag of water with hundreds of holes, 256 mm wide. */
qb_status qb__mbir_bench_foam(const qb_tool_bench_options *o, const qb_env *env, qb__mbir_bench *b);
void qb__mbir_bench_release(qb__mbir_bench *b);
/* The lines of the first `slices` slices of b->phantom, and sigma_x and sigma_y of them. */
qb_status qb__mbir_bench_project(qb__mbir_bench *b, size_t slices);
/* To b->golden, or timed until the slices of one phantom are close to it together, of several each. */
qb_status qb__mbir_bench_descend(qb__mbir_bench *b, bool golden, const qb_env *env);
void qb__mbir_bench_add_device(const qb__mbir_bench *b, cJSON *result);

#endif
