/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdint.h>
#include <string.h>

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
    qb__comm *comm;                    /* ranks that share the slices of the images; NULL: this one has them all */
    qb__run own;                       /* slices that this rank loads */
    size_t tallest;                    /* largest number of slices that a rank loads */
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

/* Decide which images are needed, after the grid and the start. `comm`: ranks that share their slices as qb__cut_rank
 * does. */
qb_status qb__mbir_images_decide(qb__mbir *m, qb__comm *comm, const qb_env *env);
static inline bool qb__mbir_image_given(const qb__mbir_image *image) { return image->path || image->array; }
size_t qb__mbir_images_bytes(const qb__mbir *m);
qb_status qb__mbir_images_load(qb__mbir *m, const qb__running *run);
/* Given image from slice `slice` of the volume on, which is one of this rank; NULL if there is no image. */
static inline const float *qb__mbir_image_at(const qb__mbir *m, const qb__mbir_image *image, size_t slice) {
    if (!image || !image->data.data) return NULL;
    return (const float *)image->data.data + (slice - m->images.own.first) * m->grid.n[0] * m->grid.n[1];
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

/* Seconds of a descent on the CPU, from the rates of planner/rates.h: for making a matrix that is kept, for the start
 * of a slab, and for an equit of a slab. Neighbouring slices in the prior are updated in turns, so some threads have no
 * group (icd_stack.h). */
typedef struct qb__mbir_cost {
    double matrix, start, equit;
} qb__mbir_cost;
qb__mbir_cost qb__mbir_cost_of(const qb__mbir *m, qb_mbir_matrix kind, size_t slices, int threads);
/* Seconds of a slab's coarser levels. */
double qb__mbir_coarse_seconds(const qb__mbir *m, size_t slices, int threads);

/* Equits that forecasts assume for level i of coarser voxels. */
double qb__mbir_level_equits(const qb__mbir *m, size_t i);
/* Equits that forecasts assume for the volume's own voxels: --equits, or fewer if --stop ends the descent. */
double qb__mbir_equits(const qb__mbir *m);

/* Some sinograms of the scan: lines[i][view][column] of detector row row[i]. */
typedef struct qb__mbir_sample {
    const float *lines;
    const size_t *row;
    size_t rows;
    double limit; /* larger line integrals are outliers */
} qb__mbir_sample;

/* Compare the line integrals of the given images (--start, --prox, --reference) with those of the scan along some
 * thousand rays. Warns of an image with another scale, unit, orientation or position if the corrected image fits much
 * better. QB_BAD_INPUT for a start that is much farther from the scan than zeros. */
qb_status qb__mbir_fit_check(const qb__mbir *m, const qb__mbir_sample *sample, const qb_env *env);

/* --reference: the rms difference from an image after each sweep, over all voxels of a slab (and of all ranks that
 * share the descent), as qb compare computes it for outputs. */

bool qb__mbir_has_reference(const qb__mbir *m);
/* rmse of `slices` slices from `first` on, in the output's units; `room` holds one slice. Collective over ranks that
 * share the descent. */
qb_status qb__mbir_reference_rmse(const qb__mbir *m, const qb__icd_stack *stack, size_t first, size_t slices,
                                  float *room, double *rmse);

/* A histogram of floats by |y|: 32 bins per octave, and one for infinite values. The bits of positive floats have the
 * same order as the floats. */
enum { QB__SIZE_SHIFT = 18, QB__SIZE_BINS = 0x7f800000 >> QB__SIZE_SHIFT };

static inline uint32_t qb__size_bin(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (bits & 0x7fffffff) >> QB__SIZE_SHIFT;
}

/* Lower limit of a bin. */
static inline double qb__size_of_bin(size_t bin) {
    const uint32_t bits = (uint32_t)(bin < QB__SIZE_BINS ? bin : QB__SIZE_BINS) << QB__SIZE_SHIFT;
    float value;
    memcpy(&value, &bits, sizeof value);
    return (double)value;
}

/* Read the terms of the cost from the options into m->settings and m->terms.weights_file. Of files only the shape is
 * read. */
qb_status qb__mbir_weights_decide(qb__mbir *m);
qb_status qb__mbir_prior_decide(qb__mbir *m);
/* The weights of neighbours that are used: as asked, else those for this geometry. */
const qb_numbers *qb__mbir_neighbours(const qb__mbir *m);
/* Read --start if it is a number, into m->terms.is_number and m->terms.constant. */
qb_status qb__mbir_start_number(qb__mbir *m);

/* qb mbir of a fan beam: the one row, or the few rows, of a detector whose rays each stay within a slice
 * (geometry/fan.h). Voxels, weights, prior and descent are those of a parallel beam. The footprints are those of
 * a fan (cpu/icd/icd.h), and the start is an FDK reconstruction of the middle plane. */

/* Check that the scan fits the geometry of the options, and make the grid of all its rows. */
qb_status qb__mbir_fan_grid(qb__mbir *m, const qb_env *env);
/* Find the geometry of the plane and the positions of slices, after the rows and the extent of voxels are known. */
qb_status qb__mbir_fan_rows(qb__mbir *m, const qb_env *env, cJSON *json, qb_geometry *flat);
/* Prepare the start by filtered back-projection: weights and filter. */
qb_status qb__mbir_fan_filter(qb__mbir *m, const qb_env *env);
void qb__mbir_fan_release(qb__mbir *m);

/* Additional bytes that this start needs. */
size_t qb__mbir_fan_bytes(const qb__mbir *m, size_t slices);
/* Make the start image on the coarsest voxels; release *images with qb__free. */
qb_status qb__mbir_fan_start(const qb__mbir *m, size_t slices, const qb__icd_given *given, qb__pool *pool,
                             const qb_env *env, float **images);

/* --snr-db auto. sigma_y depends on two things: the noise of the line integrals, and what the prior smooths anyway.
 *
 * A voxel of side a adds a^2 / p to the sum of a view's line integrals, where p is the pixel at the axis. With mean
 * weight w, V views give a pattern of neighbouring voxels that differ by sigma_x a data term of about C (sigma_x /
 * sigma_y)^2, C = w V a^3 / p; for views over a part of the half turn, V counts as if they had the same density over
 * all of it. With sigma_y^2 = 5 C sigma_x^2 the prior's term is about ten times as large: such patterns are noise, or
 * artefacts of too few views and of square voxels, and edges larger than sigma_x stay. Over phantoms of 128^2 to 256^2
 * voxels and 48 to 360 views without noise, the best factor was 4 to 10.
 *
 * Noise s (rms of the noise of w^1/2 times a line integral) makes patterns of n sigma_x, n^2 = s^2 / (C sigma_x^2). If
 * they are larger than sigma_x, where the prior grows only as |d|^p, its weight must grow with them; from a fit to
 * these phantoms with 800 to 20,000 photons per pixel, and to a measured tooth with 200 to 28,000:
 *
 *   sigma_y^2 = 5 C sigma_x^2 (1 + n^2 / 3)^0.6
 *
 * For cones with 13 to 201 views and 1,000 to 100,000 photons (64^3 and 128^3 voxels, four phantoms) 5.8 instead of 5
 * and 0.25 instead of 0.6 were best. */

/* Noise s of lines[sinogram][view][column] with their weights (0: masked); order[view]: views sorted by angle. A mixed
 * second difference over views and columns removes the object's smooth part. A quarter of the differences are smaller
 * than 0.32 s; edges are among the others. If everything is an edge, the result is too large. If the numbers were
 * counts or transmissions (`photons`), rays outside the object, which have no edges, give the number of photons, from
 * which the variance grows as e^y; the smaller s of both is taken. 0 for fewer than three views or columns. */
double qb__mbir_noise(const float *lines, const float *weights, size_t sinograms, size_t views, size_t columns,
                      const size_t *order, double limit, bool photons);
/* sigma_y for this noise. prior: sigma_x from the data; information: C. */
double qb__mbir_sigma_y(double noise, double information, double prior, bool cone);

/* The part of C that the geometry gives: number of views (as if over the half turn), voxels, pixels; and the order of
 * views by angle. */
qb_status qb__mbir_views_around(const qb__mbir *m, double *views, size_t *order);
