/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdint.h>

#include "base/json.h"
#include "base/pool.h"
#include "io/plain/source.h"
#include "io/publish/publication.h"
#include "io/scan/scan.h"
#include "job/volume_out.h"
#include "prep/phase.h"
#include "prep/prepare.h"
#include "quickbeam/geometry.h"
#include "quickbeam/recon.h"

/* Combines two line integrals that overlap: of one view from two cameras (--stitch), or of a view and the reversed view
 * half a turn later (--half-turn). In the overlap the weight changes linearly from one to the other. */
typedef struct qb__pairing qb__pairing;

/* Create the pairing; *pairing is NULL if the options ask for neither. axis: column of the axis in the data as read,
 * for --half-turn. prepare: the preparation of `scan`. All arguments must outlive the pairing. */
qb_status qb__pairing_create(qb_scan *scan, const qb__prepare *prepare, const qb_prep_options *prep,
                             const qb_convert_options *options, double axis, const qb_env *env, qb__pairing **pairing);
void qb__pairing_destroy(qb__pairing *pairing); /* NULL-safe */
size_t qb__pairing_views(const qb__pairing *pairing), qb__pairing_columns(const qb__pairing *pairing);
/* Column of the result for the scan's column 0. */
double qb__pairing_shift(const qb__pairing *pairing);
const char *qb__pairing_text(const qb__pairing *pairing);         /* description of what is done, with its numbers */
const qb__inputs *qb__pairing_inputs(const qb__pairing *pairing); /* files of the second camera; NULL: none */
/* Make views first <= v < end of the result from the scan's own lines [view][row][column]. out is
 * [view][row][qb__pairing_columns]. */
qb_status qb__pairing_views_of(qb__pairing *pairing, size_t first, size_t end, const float *lines, qb__pool *pool,
                               float *out);

/* The output of a conversion, and what an earlier run has left of it to do. */
typedef struct qb__rest {
    qb__keep keep;
    qb__publication *set;
    qb_writer *writer;
    size_t images, resumed; /* images of the output; those that an earlier run has already written */
} qb__rest;

/* Begin the output, or with --resume go on with it. `tell` as in qb__keep. Release it also after a failure. */
qb_status qb__rest_open(qb__rest *rest, const qb_convert_options *options, const qb_stack *stack,
                        qb_status (*tell)(void *self, char **job), void *self, const qb_env *env);
/* The next run of at most `block` images that are to be made: from *first on, to *end. False: there is none. */
bool qb__rest_next(qb__rest *rest, size_t block, size_t *first, size_t *end);
/* Write these images. */
qb_status qb__rest_write(qb__rest *rest, size_t first, size_t end, const void *images, const qb_env *env);
/* Write the provenance, and give the output its name. */
qb_status qb__rest_finish(qb__rest *rest, const char *provenance);
void qb__rest_release(qb__rest *rest);

typedef struct qb__convert_job {
    qb_scan *scan, *given; /* with the phase retrieved; as the caller gave it */
    const qb_scan_info *info;
    const qb_convert_options *options;
    const qb_prep_options *prep;
    const char *command;
    qb__pool *pool;
    qb__prepare *prepare;
    qb__phase *phase;        /* NULL: no phase retrieval */
    qb__prep_counts *counts; /* [thread] */
    qb__rest rest;
    qb_stack stack;      /* the output */
    size_t block, first; /* number of views at a time; first view of the current block */
    char *raw;
    float *lines; /* [view][row][column] */
    /* attenuation in 1/mm of the material whose thickness is written; 1: line integrals are written */
    double mu;
    qb__pairing *pairing; /* NULL: views are written as they are */
    float *joined;        /* [view][row][column] output of the pairing */
    qb_geometry geometry; /* of a scan that states its geometry; views 0: it states none */
    double axis;          /* column of the axis that the output file states; NAN: it states none */
    unsigned char *mask;  /* [row][column] enum qb_pixel; NULL: all pixels are measured */
    char *report;
} qb__convert_job;

/* ---- convert_place.c: what the output states of axis, angles and geometry ---- */

/* Find the axis, as columns from the middle of the detector. */
qb_status qb__convert_axis(const qb__convert_job *c, const qb_env *env, qb_stack *stack);
/* Pixels that were not measured: for the output file, or the user is told that it does not hold them. */
qb_status qb__convert_mask(qb__convert_job *c, const qb_env *env, qb_stack *stack);
/* Column about which --half-turn pairs the views, on the detector as read; NAN: none is given. */
double qb__convert_asked_axis(const qb__convert_job *c);
/* The file does not state the angles: tell the user how to pass them to the program that reads it. */
void qb__convert_leave_angles(const qb__convert_job *c, size_t views, const qb_env *env);
/* A cone beam's geometry goes with its images: into the provenance, where every reader of this library finds it. */
qb_status qb__convert_find_geometry(qb__convert_job *c, const qb_env *env);
void qb__convert_keep_geometry(const qb__convert_job *c, cJSON *provenance);

/* ---- convert_report.c ---- */

/* The job fingerprint: a later run resumes only if what is read, done and written is the same. `self`: qb__convert_job. */
qb_status qb__convert_tell(void *self, char **job);
/* Write the provenance: what was done to the values, and the command that repeats it. */
qb_status qb__convert_finish(qb__convert_job *c, const qb_env *env);

/* Find the number of columns that two cameras share, if the second camera is on the right: the number with which line
 * integrals of some views and rows agree best. QB_BAD_INPUT if they agree for no number. */
qb_status qb__overlap_find(qb_scan *first, const qb__prepare *first_prepared, qb_scan *second,
                           const qb__prepare *second_prepared, double *overlap);

/* --dtype of qb convert: writes the values of a volume with another type. */
typedef struct qb__revalue {
    bool used; /* values are converted; else numbers stay as stored */
    qb_dtype from, to;
    double base, step; /* value = base + step * stored number */
    bool given;        /* --range is given */
    double low, high;  /* values of the integers 0 and maximum */
    size_t pixels;     /* pixels of an image */
    size_t images;     /* images converted so far */
    uint64_t outside;  /* number of clamped values, and of missing ones unless floats are written */
    uint64_t missing;  /* number of values that are NaN */
} qb__revalue;

/* Decide the conversion. QB_BAD_ARGUMENT for a type that cannot be written, or a range that does not fit it. */
qb_status qb__revalue_begin(const qb_convert_options *options, const qb__source *source, qb__revalue *revalue);
/* Bytes per image that conversion needs, in addition to the stored image. */
size_t qb__revalue_bytes(const qb__revalue *revalue);
/* Find the range of integers from all values if none is given; reads `block` images at a time into `images`, which has
 * room for the floats after them. */
qb_status qb__revalue_range(qb__revalue *revalue, qb__source *source, size_t block, char *images, const qb_env *env);
/* Convert `count` images. *out: the result, which lies behind `images`, or `images` itself if nothing is converted. */
qb_status qb__revalue_images(qb__revalue *revalue, size_t threads, size_t count, char *images, const void **out);
/* Report the numbers of missing and of clamped values. */
void qb__revalue_report(const qb__revalue *revalue, cJSON *report, const qb_env *env);

/* --thickness converts line integrals p of one material to lengths p / mu in mm. text: mu in 1/mm; beta:B, then mu = 4
 * pi B / lambda; or delta:D, then B = D / (delta/beta), with the ratio of --paganin. With text NULL *mu is 1. The
 * energy is that of `prep`, otherwise that of the scan. */
qb_status qb__thickness_of(const char *text, const qb_scan_info *info, const qb_prep_options *prep, double *mu);
