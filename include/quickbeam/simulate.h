/* SPDX-License-Identifier: MIT */
#ifndef QUICKBEAM_SIMULATE_H
#define QUICKBEAM_SIMULATE_H

#include "quickbeam/env.h"
#include "quickbeam/param.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Analytic projections of ellipsoid phantoms, with the noise and faults of a measured scan. */
typedef struct qb_simulate_options {
    int geometry;          /* 0 parallel, 1 cone */
    qb_numbers size;       /* NX[,NY,NZ] voxels of --truth; default: detector columns, columns, rows */
    int views;
    qb_numbers detector;   /* COLUMNS,ROWS */
    char *angles;          /* as in qb_scan_options; default 0:180 parallel, 0:360 cone */
    double sod, sdd;       /* mm, cone */
    double pixel_size;     /* mm */
    double attenuation;    /* 1/mm of value 1.0 */
    double photons;        /* per pixel in the flats; 0 = noiseless transmission */
    double rings;          /* relative spread of the faulty columns' gain; 0 = none */
    double center_offset;  /* pixels */
    int seed;
    char *truth;           /* volume file to write */
    char *geometry_out;
    char *output;
} qb_simulate_options;
QB_API extern const qb_param qb_simulate_params[];

/* phantom: shepp-logan, disc, ball, spheres, foam. Streams view by view to options->output. */
QB_API qb_status qb_simulate(const char *phantom, const qb_simulate_options *options,
                             const qb_env *env);

#ifdef __cplusplus
}
#endif
#endif
