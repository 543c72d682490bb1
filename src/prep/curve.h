/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "kernels/macros.h"
#include "quickbeam/status.h"

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
