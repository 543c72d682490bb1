/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/pool.h"
#include "bench/bench_parts.h"
#include "geometry/phantom.h"
#include "planner/choose.h"
#include "planner/device_select.h"
#include "recon/mbir/icd/icd_bands.h"
#include "recon/mbir/mbir.h"

enum { QB__MBIR_GOLDEN = 40 };                  /* equits of the reference image */
static const double qb__mbir_close_enough = 10; /* Hounsfield units */

/* Noisy slices of a phantom that are reconstructed twice: to the reference image, and to within 10 HU of it. */
typedef struct qb__mbir_bench {
    qb__device_set set; /* empty: on the CPU */
    qb__choice choice;  /* kernel of the device */
    qb_geometry geometry;
    qb_grid grid;
    qb__phantom *phantom; /* [phantoms]: one for all slices, or one per slice */
    size_t phantoms;
    double water;   /* attenuation of water over a voxel's side */
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
    /* results of a timed run */
    double begun, watched, start, seconds, equits, rmse;
    /* [slice] HU to the reference image, and the equits after which it was close enough; NAN */
    double *apart, *reached;
} qb__mbir_bench;

/* `width` of the field in mm. Release the members with qb__mbir_bench_release, also after a failure. */
qb_status qb__mbir_bench_make(const qb_tool_bench_options *o, const qb_env *env, double width, qb__mbir_bench *b);
/* Makes the problem for a foam: a bag of water with hundreds of holes, 256 mm wide. */
qb_status qb__mbir_bench_foam(const qb_tool_bench_options *o, const qb_env *env, qb__mbir_bench *b);
void qb__mbir_bench_release(qb__mbir_bench *b);
/* The line integrals of the first `slices` slices of b->phantom, with their sigma_x and sigma_y. */
qb_status qb__mbir_bench_project(qb__mbir_bench *b, size_t slices);
/* Descend to b->golden, or timed until the slices are close to it: together for one phantom, each for several. */
qb_status qb__mbir_bench_descend(qb__mbir_bench *b, bool golden, const qb_env *env);
void qb__mbir_bench_add_device(const qb__mbir_bench *b, cJSON *result);
