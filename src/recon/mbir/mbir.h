/* SPDX-License-Identifier: MIT */
#pragma once

#include "geometry/cone_weights.h"
#include "recon/mbir/mbir_checkpoint.h"
#include "recon/reconstruction.h"

/* sigma_x and sigma_y as svmbir computes them, from `count` sinograms and their weights. sigma_x is 0.2 * 2^sharpness
 * times the mean line integral over the detector's width. sigma_y is the rms of weighted line integrals, snr_db
 * decibels lower, times sqrt(voxel / pixel). Only rays that meet the object count. Outliers beyond the limit are left
 * out, because one faulty value of 1e4 would change the whole image. */
typedef struct qb__mbir_sigmas {
    double x, y, p;      /* p: sigma_p of a proximal map, ten times sigma_x */
    double limit;        /* limit of outliers; 0: not computed yet */
    size_t left_out, of; /* line integrals above the limit, and all that were checked */
    double rms, weight;  /* rays that hit the object: rms of w^1/2 y times sqrt(voxel / pixel), and mean weight */
    double noise;        /* noise of w^1/2 y, from differences of neighbours; 0: none found, or not computed */
    bool met;            /* a ray hits the object; otherwise sigmas cannot be computed */
} qb__mbir_sigmas;
/* The limit above which a line integral counts as an outlier, from every `step`-th of some lines: five times their
 * 99.5th percentile, at least 25 (one photon of 7e10 passes). No value of a clean scan is larger, whatever its units,
 * if the object covers more than one ray in two hundred. */
double qb__mbir_limit(const float *lines, size_t count, size_t step);
qb__mbir_sigmas qb__mbir_sigmas_of(const float *lines, const float *weights, size_t count, double width,
                                   double relative_voxel, double sharpness, double snr_db);

/* An input volume [z][y][x], a file or an array of the caller: proximal image, start, or reference. */
typedef struct qb__mbir_image {
    const char *option, *path;
    const qb_tensor *array;
    const char *besides; /* other values of the option than a file name, for messages */
    qb_array data;       /* float32, while running */
    bool in_hu;          /* the file states Hounsfield units; converted when loaded */
} qb__mbir_image;
enum { QB__MBIR_TOWARD, QB__MBIR_START, QB__MBIR_REFERENCE, QB__MBIR_IMAGES };

/* The images of a descent; written by mbir_images.c and mbir_reference.c. */
typedef struct qb__mbir_images {
    qb__mbir_image image[QB__MBIR_IMAGES];
    const qb__mbir_image *begins_with; /* the image of the start; NULL = none */
    bool proximal;                     /* proximal map: voxels are pulled toward an image, without a prior */
} qb__mbir_images;

/* A level of coarser voxels, on which the descent begins. */
typedef struct qb__mbir_level {
    qb__system_matrix matrix;  /* matrix on these voxels; its columns are not kept */
    qb__icd_settings settings; /* without sigma_x and sigma_y, which come from the data */
} qb__mbir_level;
enum { QB__MBIR_LEVELS = 4 };

/* Written by mbir_coarse.c. */
typedef struct qb__mbir_levels {
    qb__mbir_level level[QB__MBIR_LEVELS]; /* voxels of 2, 4, 8, ... times the side */
    size_t levels;
} qb__mbir_levels;

/* The terms of the cost, and the start, as the options state them; written by mbir_terms.c. */
typedef struct qb__mbir_terms {
    const char *weights_file; /* NULL: weights by rule */
    double constant;          /* value of the start, if is_number */
    bool is_number;
} qb__mbir_terms;

/* The flat detector of a fan, on which the start is filtered; written by mbir_fan.c. */
typedef struct qb__mbir_flat {
    /* a copy of the geometry, or the plane that touches a curved detector, at column `left` */
    qb_geometry screen;
    qb__cone_weights weights; /* weights on the detector `screen` */
    size_t left;
} qb__mbir_flat;

/* Values found in the data, or read from files, by qb__mbir_measure(); written by mbir_sigmas.c. */
typedef struct qb__mbir_measured {
    qb__mbir_sigmas sigmas;
    qb_array weights; /* weights from a file */
    char job[48];     /* unique name of this job, sent by rank 0 */
} qb__mbir_measured;

/* A model-based reconstruction of a parallel beam or a fan. Without a prior between slices, slabs of whole groups are
 * computed one after another; with such a prior there is a single slab, or one per rank. mbir_plan.c decides the
 * struct, for a cone mbir_cone.c; the CPU's engine chooses how the matrix is kept. */
typedef struct qb__mbir {
    qb_scan *scan;
    const qb_scan_info *info;
    const qb_mbir_options *options;
    const qb_prep_options *prep;
    const qb_geometry *rays; /* geometry of a fan; NULL: a parallel beam */
    const char *output;      /* NULL: no file */
    bool any;                /* the method for any geometry computes it (mbir_cone.c) */
    double pixel;            /* mm, or 1 when unknown; for a fan the size at the axis */
    double center, found; /* column of the axis, NAN = not found yet; found: by begin(). A fan's geometry states it */
    bool looked;          /* begin() has run */
    qb_grid grid;
    size_t first_row;     /* detector row of slice 0 */
    size_t rows;          /* number of detector rows of the volume, from first_row on */
    qb_geometry geometry; /* geometry of the plane of a fan */
    double *theta;        /* [view] angular weight in radians; for a fan `flat` has the weights */
    qb__mbir_flat flat;
    qb__filter *filter; /* filter of the back-projection at the start; NULL = start from a constant or an image */
    qb__mbir_images images;
    qb__mbir_terms terms;
    const qb__icd_variant *variant;
    qb__system_matrix matrix;  /* the engine decides whether its columns are kept */
    qb_mbir_matrix kind;       /* how columns are kept; known once the cut is chosen */
    qb__icd_settings settings; /* without sigma_x and sigma_y, which come from the data */
    qb__icd_halo halo;         /* exchange of slices between ranks, with a prior between slices */
    size_t grain;              /* a rank's slices are a multiple of this */
    qb__mbir_levels coarse;
    qb__mbir_measured measured;
    qb__cut cut; /* the current cut */
    qb__checkpoint keep;
} qb__mbir;

enum { QB__MBIR_LOOK = 8 }; /* largest number of slices from which sigmas are computed */
/* Copy the weights of `slices` rows from `row` on from the file, in the order of the line integrals. */
void qb__mbir_weights(const qb__mbir *m, size_t row, size_t slices, float *out);

/* ---- given images ---- */

/* Decide which images are needed, after the grid and the start. */
qb_status qb__mbir_images_decide(qb__mbir *m, const qb_env *env);
size_t qb__mbir_images_bytes(const qb__mbir *m);
qb_status qb__mbir_images_load(qb__mbir *m, const qb__running *run);
/* Given image from slice `slice` of the volume on; NULL if there is none. */
static inline const float *qb__mbir_image_at(const qb__mbir *m, const qb__mbir_image *image, size_t slice) {
    return image && image->data.data ? (const float *)image->data.data + slice * m->grid.n[0] * m->grid.n[1] : NULL;
}
void qb__mbir_images_release(qb__mbir *m);

/* Number of slices that determines the groups: of the job, or, with a prior between slices of ranks, of the largest
 * rank. */
size_t qb__mbir_all(const qb__mbir *m);

/* Warn that the descent stopped at its limit. rest: share by which the cost is forecast to fall, 1 = unknown; change:
 * share by which the image changed in the last equit; or: another remedy. */
void qb__mbir_warn_of_rest(const qb_env *env, int equits, double rest, double change, int enough, const char * or);

/* Options and scales found in the data that must be equal for a checkpoint to be used. The data themselves are compared
 * separately. The caller releases the result. */
cJSON *qb__mbir_job_of(const qb__mbir *m, const char *engine, const char *kernel);

/* ---- rows of the method's table ---- */

qb_status qb__mbir_decide(const qb__task *task, void *plan, const qb_env *env, cJSON *json, qb__decision *decision);
qb_status qb__mbir_begin(void *plan, const qb_env *env, cJSON *report, bool *anew);
void qb__mbir_facts(void *plan, const qb__cut *cut, qb__job_facts *facts);
void qb__mbir_release(void *plan);
qb_status qb__mbir_measure(void *plan, const qb__running *run);
void qb__mbir_close(void *plan, bool named);
void qb__mbir_rows(const void *plan, size_t first, size_t count, size_t *row0, size_t *row1);
int qb__mbir_stages(void *plan, const qb__cut *cut, qb__stage *stages);
qb_status qb__mbir_open(void *plan, const qb__cut *cut);

extern const qb__engine qb__mbir_cpu, qb__mbir_device;

/* The method for any geometry: the same cost, minimised with the projector pair (mbir_cone.c). */
extern const qb__method qb__mbir_cone_method;
