/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "io/scan/scan.h"
#include "kernels/macros.h"
#include "prep/spectrum.h"
#include "quickbeam/status.h"

/* --hardening two, for one job: a scan that reads the given one. For a ray through the dense material, the number
 * becomes the one that the light material alone would give for the same attenuation; the hardening step then corrects
 * all rays as those of the light material. Until the paths are known, numbers are unchanged. */
typedef struct qb__dense qb__dense;

/* Paths in the dense material: for every `columns`-th column of every `rows`-th row from row0 on, for correspondingly
 * larger pixels. A path is its number times the scale of its view. */
typedef struct qb__dense_paths {
    size_t bin[2];     /* columns and rows of the scan per sample */
    size_t row0, step; /* if bin[1] is 1: the scan's row of the first sample, and rows from one sample to the next */
    size_t rows, columns;
    uint16_t *path; /* [view][rows][columns] */
    float *scale;   /* [view] mm; 0: the view sees no dense part */
} qb__dense_paths;

/* *dense is NULL if `prep` does not ask for it. The given scan must outlive it. own: it is a job's own scan
 * (prep/phase.h). */
qb_status qb__dense_create(qb_scan *scan, bool own, const qb_prep_options *prep, qb__dense **dense);
void qb__dense_destroy(qb__dense *dense); /* NULL-safe */
qb_scan *qb__dense_scan(qb__dense *dense);
const qb__two *qb__dense_materials(const qb__dense *dense);
const qb__two_beam *qb__dense_beam(const qb__dense *dense);
/* Measured line integrals of rows row0 <= row < row1 of a view; NAN if there is none. out[rows][columns] */
qb_status qb__dense_lines(qb__dense *dense, size_t view, size_t row0, size_t row1, float *out);
/* Takes over the arrays of `paths`; from now on the scan is corrected. */
void qb__dense_give(qb__dense *dense, const qb__dense_paths *paths);

/* Transmissions that were raised to prep's floor since the last reset. Corrected ones may be smaller. */
uint64_t qb__dense_clamped(const qb__dense *dense);
void qb__dense_recount(qb__dense *dense);
size_t qb__dense_bytes(const qb__dense *dense);                                /* while reading; 0 if dense is NULL */
double qb__dense_seconds(const qb__dense *dense, double numbers, int threads); /* see qb__phase_seconds */

enum { QB__CURVE_STEPS = 512 };

/* The curve of --hardening for line integrals p: a polynomial p + a p^2 + b p^3, or p times a ratio from a table with
 * equal steps from 0 to `end`. Below 0 the first ratio continues, above `end` the last slope. */
typedef struct qb__hardening_curve {
    bool table;
    float a, b;
    float end, per_step; /* per_step: table steps per unit of p */
    float slope;         /* slope of the curve beyond the end of the table */
    float ratio[QB__CURVE_STEPS + 1];
    char *macro; /* the ratios, for a device */
} qb__hardening_curve;

/* text: A[,B], table:FILE or spectrum:...; NULL, "" or none: *curve becomes NULL. QB_BAD_ARGUMENT, QB_BAD_INPUT, errors
 * of reading. */
qb_status qb__curve_create(const char *text, qb__hardening_curve **curve);
void qb__curve_destroy(qb__hardening_curve *curve); /* NULL-safe */
/* out may be in. NaN keeps its bits. */
void qb__curve_run(const qb__hardening_curve *curve, size_t count, const float *in, float *out);
double qb__curve_at(const qb__hardening_curve *curve, double p);
/* The value at which a polynomial stops rising; INFINITY: it never stops. */
double qb__curve_turns(const qb__hardening_curve *curve);
/* For a table: its last ratio relative to that of thin layers, above 1 for a hardened beam. For a polynomial: 1. */
double qb__curve_growth(const qb__hardening_curve *curve);
/* The macros for prepare_rows.clh; the curve must outlive them. */
void qb__curve_define(const qb__hardening_curve *curve, qb__macros *macros);
