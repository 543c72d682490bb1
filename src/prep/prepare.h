/* SPDX-License-Identifier: MIT */
#ifndef QB_PREP_PREPARE_H
#define QB_PREP_PREPARE_H

#include "base/json.h"
#include "base/pool.h"
#include "kernels/macros.h"
#include "prep/prep.h"
#include "quickbeam/recon.h"

/* Everything that turns an open scan's numbers into line integrals: the steps (step.h) it wants, and
 * the fields that their passes made of some rows. Made once, then read from any thread. */
typedef struct qb__prepare qb__prepare;

/* For rows row0 <= row < row1, every `step`-th. Runs the passes over the scan: its fields, and what else is asked for
 * (the air region of every view). Says what it decided. `options` must outlive it. */
qb_status qb__prepare_create(qb_scan *scan, const qb_prep_options *options, size_t row0, size_t row1,
                             size_t step, const qb_env *env, qb__prepare **prepare);
/* Bytes it will hold, for planning. */
size_t qb__prepare_bytes(const qb_scan_info *info, const qb_prep_options *options, size_t rows);
void qb__prepare_destroy(qb__prepare *prepare); /* NULL-safe */
/* One detector row of one view, as qb__prep_row; `row` counts from the scan's first. */
void qb__prepare_row(const qb__prepare *prepare, size_t view, size_t row, const void *raw, float *out,
                     qb__prep_counts *counts);
/* The steps, for devices that do them by themselves; row 0 of their fields is the first prepared, of
 * qb__prepare_rows_held. */
const qb__prep *qb__prepare_steps(const qb__prepare *prepare);
size_t qb__prepare_rows_held(const qb__prepare *prepare);
/* The macros of the steps that prepare_rows.clh must be told of. */
void qb__prep_define(const qb__prep *prep, qb__macros *macros);

/* Read and prepare rows row0 <= row < row1, all among the prepared, of all views:
 * sinograms[row][view][column]. */
qb_status qb__prepare_rows(const qb__prepare *prepare, qb_scan *scan, size_t row0, size_t row1,
                           qb__pool *pool, float *sinograms, qb__prep_counts *counts);
/* What was mended, summed over the threads' counts: into the report, and as warnings. */
void qb__prepare_report(const qb__prepare *prepare, const qb__prep_counts *counts, int threads,
                        cJSON *report, const qb_env *env);
/* A volume of nothing but mended values is no result: QB_BAD_INPUT when that is all there was. */
qb_status qb__prepare_check(const char *path, const qb__prep_counts *counts, int threads);
void qb__prep_counts_add(qb__prep_counts *sum, const qb__prep_counts *more);

#endif
