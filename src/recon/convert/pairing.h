/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/pool.h"
#include "io/scan/scan.h"
#include "prep/phase.h"
#include "prep/prepare.h"
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
