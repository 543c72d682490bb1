/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/json.h"
#include "base/pool.h"
#include "kernels/macros.h"
#include "prep/prep.h"
#include "quickbeam/recon.h"

/* Everything that converts an open scan's numbers to line integrals: its steps (step.h), and the fields that their
 * passes made for some rows. Created once, then thread-safe. */
typedef struct qb__prepare qb__prepare;

/* Detector rows row0 <= row < row1, every `step`-th (0 = 1). If ranks share a job, each reports for rows of its own:
 * own0 <= row < own1; or all ranks have all rows and share a pass over them. */
typedef struct qb__prepared {
    size_t row0, row1, step;
    size_t own0, own1; /* not used if all ranks have all rows, or without ranks */
    bool all;
    bool keep_lost; /* missing values stay NaN; passes over the scan fill them nevertheless */
    qb_pad ends;    /* see qb__prep.ends */
    double axis;    /* column of the rotation axis in all rows; 0: not known */
} qb__prepared;

/* Run the passes over the scan: its fields, and other steps such as the air region of every view. Reports decisions.
 * `options` must outlive it. */
qb_status qb__prepare_create(qb_scan *scan, const qb_prep_options *options, const qb__prepared *rows, const qb_env *env,
                             qb__prepare **prepare);
/* True if the passes read every view of every row (of this rank's rows if ranks share them). */
bool qb__prepare_reads_all(const qb_scan_info *info, const qb_prep_options *options);
/* Set that numbers were already raised to the floor by the scan that delivers them: smaller ones are results of
 * corrections. */
void qb__prepare_free_floor(qb__prepare *prepare);
/* Bytes that it will hold, for planning. */
size_t qb__prepare_bytes(const qb_scan_info *info, const qb_prep_options *options, size_t rows);
/* Forecast seconds to create it on this number of threads. */
double qb__prepare_seconds(const qb_scan_info *info, const qb_prep_options *options, size_t rows, int threads);
void qb__prepare_destroy(qb__prepare *prepare); /* NULL-safe */
/* Prepare one detector row of one view, as qb__prep_row does; `row` counts from the first row of the scan. */
void qb__prepare_row(const qb__prepare *prepare, size_t view, size_t row, const void *raw, float *out,
                     qb__prep_counts *counts);
/* Prepare rows row0 <= row < row0 + rows of one view, contiguous in raw and prepared memory. */
void qb__prepare_view(const qb__prepare *prepare, size_t view, size_t row0, size_t rows, const void *raw, float *out,
                      qb__prep_counts *counts);
/* Approximate values per second that one thread converts. */
#define QB__PREPARED 0.5e9
/* The steps, for devices that perform them; row 0 of their fields is the first prepared one of qb__prepare_rows_held:
 * row qb__prepare_first_row of the scan. */
const qb__prep *qb__prepare_steps(const qb__prepare *prepare);
size_t qb__prepare_rows_held(const qb__prepare *prepare);
size_t qb__prepare_first_row(const qb__prepare *prepare);
/* The corrections by neighbours for the prepared rows; NULL: no such step. */
struct qb__neighbours *qb__prepare_neighbours(const qb__prepare *prepare);
/* Set the changes of flats and stripes over the views in a device's parameters; the other parameters are set. */
struct qb__device_prep;
void qb__prep_changes(const qb__prep *prep, struct qb__device_prep *device);
/* Add the macros of the steps for prepare_rows.clh. */
void qb__prep_define(const qb__prep *prep, qb__macros *macros);

/* Read and prepare rows row0 <= row < row1, all among the prepared ones, of all views: sinograms[row][view][column]. */
qb_status qb__prepare_rows(const qb__prepare *prepare, qb_scan *scan, size_t row0, size_t row1, qb__pool *pool,
                           float *sinograms, qb__prep_counts *counts);
/* Reset counters: only later reads count. */
void qb__prepare_recount(qb__prepare *prepare);
/* Corrected values, summed over the threads' counts: for the report, and as warnings. Returns the report's entry. */
const cJSON *qb__prepare_report(const qb__prepare *prepare, const qb__prep_counts *counts, int threads, cJSON *report,
                                const qb_env *env);
/* QB_BAD_INPUT if all values were corrected, because such a volume is no result. */
qb_status qb__prepare_check(const char *path, const qb__prep_counts *counts, int threads);
void qb__prep_counts_add(qb__prep_counts *sum, const qb__prep_counts *more);
