/* SPDX-License-Identifier: MIT */
#ifndef QB_RECON_MBIR_MBIR_H
#define QB_RECON_MBIR_MBIR_H

#include "geometry/cone_weights.h"
#include "recon/mbir/mbir_checkpoint.h"
#include "recon/reconstruction.h"

/* What svmbir takes for sigma_x and sigma_y, of some sinograms [count] and their weights: 0.2 *
 * 2^sharpness times the mean line integral over the detector's width; and the rms of weighted
 * line integrals, snr_db decibels lower, times sqrt(voxel / pixel). Of rays that meet something, and without
 * what lies beyond the limit: one faulty value of 1e4 would move both, and with them the whole image. */
typedef struct qb__mbir_sigmas {
    double x, y, p;      /* p: of a proximal map, ten times x */
    double limit;        /* 0: nobody has looked */
    size_t left_out, of; /* lines beyond it, and all that were looked at */
    double rms,
        weight; /* of the line integrals that meet something: of w^1/2 y, times sqrt(voxel / pixel); their mean weight */
    double noise; /* of w^1/2 y, by differences of neighbours; 0: none found, or nobody has looked */
    bool met;     /* any ray has met something: else the data say nothing of them */
} qb__mbir_sigmas;
/* Of every `step`-th of some lines: five times what 99.5 % of them do not exceed in size, or 25, what no attenuation has (one
 * photon of 7e10 comes through), if that is more. So nothing of a clean scan lies beyond, nor of one in other units whose
 * object takes more than every two hundredth ray. */
double qb__mbir_limit(const float *lines, size_t count, size_t step);
qb__mbir_sigmas qb__mbir_sigmas_of(const float *lines, const float *weights, size_t count, double width,
                                   double relative_voxel, double sharpness, double snr_db);

/* A volume [z][y][x] that a descent is given, or compared with, as a file or as the caller's array. */
typedef struct qb__mbir_image {
    const char *option, *path;
    const qb_tensor *array;
    const char *besides; /* what else could have been given */
    qb_array data;       /* float32, while running */
} qb__mbir_image;
enum { QB__MBIR_TOWARD, QB__MBIR_START, QB__MBIR_REFERENCE, QB__MBIR_IMAGES };

/* Coarser voxels that a descent begins with. */
typedef struct qb__mbir_level {
    qb__system_matrix matrix;  /* nothing is kept */
    qb__icd_settings settings; /* but for what the data say */
} qb__mbir_level;
enum { QB__MBIR_LEVELS = 4 };

/* A model-based reconstruction of a parallel beam or a fan. Slices that know nothing of each other pass in slabs
 * of whole groups; with a prior between them there is one slab, or one of each rank. */
typedef struct qb__mbir {
    /* decided by mbir_plan.c; only read afterwards */
    qb_scan *scan;
    const qb_scan_info *info;
    const qb_mbir_options *options;
    const qb_prep_options *prep;
    const char *output;   /* NULL: no file */
    double pixel;         /* mm, or 1 when unknown; of a fan as it appears at the axis */
    double center, found; /* the axis' column, NAN = yet to be found; by begin(); a fan's geometry says where it is */
    bool looked;          /* begin() has */
    qb_grid grid;
    size_t first_row;     /* of slice 0 */
    qb_geometry geometry; /* of a fan that of its plane */
    double *theta;        /* [view] radians that it stands for; of a fan, ... */
    qb__cone_weights fan; /* ... these, of: */
    qb_geometry screen;   /* a flat detector of a fan, which the start is filtered on: a copy of the geometry,
                              or that which touches a bent one, at column `left` */
    size_t left;
    qb__filter *filter; /* of the start; NULL = a constant, ... */
    double constant;    /* ... this, ... */
    bool start_is_number;
    const qb__mbir_image *begins_with; /* ... unless this */
    qb__mbir_image image[QB__MBIR_IMAGES];
    bool reference_in_hu;
    bool proximal; /* voxels are pulled toward an image, neighbours let be */
    const qb__icd_variant *variant;
    qb__system_matrix matrix;               /* its columns are kept by the engine */
    qb_mbir_matrix kind;                    /* how, once the cut is chosen by memory */
    qb__icd_settings settings;              /* but for what the data say: sigma_x, sigma_y */
    qb__icd_halo halo;                      /* the settings', where ranks share slices that know of each other */
    size_t grain;                           /* slices that ranks do not part */
    qb__mbir_level coarse[QB__MBIR_LEVELS]; /* of twice the side, of four times, ... */
    size_t levels;
    const char *weights_file; /* NULL: by rule */
    /* of the numbers, by qb__mbir_measure() */
    qb__mbir_sigmas sigmas;
    qb_array weights; /* of a file */
    char job[48];     /* told by rank 0: like no other job's */
    /* of the cut in hand */
    qb__cut cut;
    qb__checkpoint keep;
} qb__mbir;

enum { QB__MBIR_LOOK = 8 }; /* slices that sigmas are told from, at most */
/* Weights of a file, of `slices` rows from `row` on, as the lines lie. */
void qb__mbir_weights(const qb__mbir *m, size_t row, size_t slices, float *out);

/* ---- images that are given ---- */

/* Which there are, after the grid and the start are decided. */
qb_status qb__mbir_images_decide(qb__mbir *m);
size_t qb__mbir_images_bytes(const qb__mbir *m);
qb_status qb__mbir_images_load(qb__mbir *m, const qb__running *run);
/* From a slice of the volume on; NULL where there is no image. */
const float *qb__mbir_image_at(const qb__mbir *m, const qb__mbir_image *image, size_t slice);
void qb__mbir_images_release(qb__mbir *m);

/* Slices by which they are grouped: of the job, or, of ranks whose slices know of each other, of the one that has most. */
size_t qb__mbir_all(const qb__mbir *m);
size_t qb__mbir_chunk_slices(const qb__mbir *m, size_t chunk);

/* ---- rows of the method's table ---- */

qb_status qb__mbir_decide(const qb__task *task, void *plan, const qb_env *env, cJSON *json, qb__decision *decision);
qb_status qb__mbir_begin(void *plan, const qb_env *env, cJSON *report, bool *anew);
void qb__mbir_describe(const void *plan, const qb__cut *cut, cJSON *json);
void qb__mbir_release(void *plan);
qb_status qb__mbir_measure(void *plan, const qb__running *run);
void qb__mbir_close(void *plan);
void qb__mbir_rows(const void *plan, size_t first, size_t count, size_t *row0, size_t *row1);
int qb__mbir_stages(void *plan, const qb__cut *cut, qb__stage *stages);
qb_status qb__mbir_open(void *plan, const qb__cut *cut);
void qb__mbir_named(void *plan);

extern const qb__engine qb__mbir_cpu, qb__mbir_device;

#endif
