/* SPDX-License-Identifier: MIT */
#ifndef QB_RECON_MBIR_MBIR_H
#define QB_RECON_MBIR_MBIR_H

#include "recon/mbir/icd_stack.h"
#include "recon/reconstruction.h"

/* A model-based reconstruction of a parallel beam. Slices that know nothing of each other pass in slabs
 * of whole groups; with a prior between them there is one slab. */
typedef struct qb__mbir {
    /* decided by mbir_plan.c; only read afterwards */
    qb_scan *scan;
    const qb_scan_info *info;
    const qb_mbir_options *options;
    const qb_prep_options *prep;
    double pixel;          /* mm, or 1 when unknown */
    double center, found;  /* the axis' column, NAN = yet to be found; by begin() */
    bool looked;           /* begin() has */
    qb_grid grid;
    size_t first_row;      /* of slice 0 */
    qb_geometry geometry;
    double *theta;         /* [view] radians that it stands for */
    qb__filter *filter;    /* of the start; NULL = a constant, ... */
    double constant;       /* ... this */
    const qb__icd_variant *variant;
    qb__system_matrix matrix; /* its columns are kept by the engine */
    qb_mbir_matrix kind;      /* how, once the cut is chosen by memory */
    qb__icd_settings settings; /* but for what the data say: sigma_x, sigma_y */
    const char *weights_file; /* NULL: by rule */
    /* of the cut in hand */
    qb__cut cut;
} qb__mbir;

size_t qb__mbir_chunk_slices(const qb__mbir *m, size_t chunk);

/* What svmbir takes for sigma_x and sigma_y, of some sinograms [count] and their weights: 0.2 *
 * 2^sharpness times the mean line integral over the detector's width; and the rms of weighted
 * line integrals, snr_db decibels lower, times sqrt(voxel / pixel). Of rays that meet something. */
typedef struct qb__mbir_sigmas {
    double x, y;
} qb__mbir_sigmas;
qb__mbir_sigmas qb__mbir_sigmas_of(const float *lines, const float *weights, size_t count, double width,
                                   double relative_voxel, double sharpness, double snr_db);

/* ---- rows of the method's table ---- */

qb_status qb__mbir_decide(const qb__task *task, void *plan, const qb_env *env, cJSON *json,
                          qb__decision *decision);
qb_status qb__mbir_begin(void *plan, const qb_env *env, cJSON *report, bool *anew);
void qb__mbir_describe(const void *plan, const qb__cut *cut, cJSON *json);
void qb__mbir_release(void *plan);
int qb__mbir_stages(void *plan, const qb__cut *cut, qb__stage *stages);
qb_status qb__mbir_open(void *plan, const qb__cut *cut);

extern const qb__engine qb__mbir_cpu;

#endif
