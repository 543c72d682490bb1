/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/json.h"
#include "base/pool.h"
#include "io/scan/scan.h"
#include "prep/phase.h"
#include "prep/prepare.h"
#include "quickbeam/geometry.h"
#include "quickbeam/recon.h"
#include "recon/convert/pairing.h"
#include "recon/convert/rest.h"

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
    char *report;
} qb__convert_job;

/* ---- convert_place.c: what the output states of axis, angles and geometry ---- */

/* Find the axis, as columns from the middle of the detector. */
qb_status qb__convert_axis(const qb__convert_job *c, const qb_env *env, qb_stack *stack);
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
