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

/* Detector rows row0 <= row < row1, every `step`-th (0 = 1). Where ranks share a job each has rows that no other speaks for when
 * they say together what was found: own0 <= row < own1; or all ranks have all rows and share a pass over them. */
typedef struct qb__prepared {
    size_t row0, row1, step;
    size_t own0, own1; /* not looked at where all have all, or on one's own */
    bool all;
    bool keep_lost; /* what has no value stays NaN; passes over the scan bridge it all the same */
    qb_pad ends;    /* as qb__prep's */
} qb__prepared;

/* Runs the passes over the scan: its fields, and what else is asked for (the air region of every view). Says what it decided.
 * `options` must outlive it. */
qb_status qb__prepare_create(qb_scan *scan, const qb_prep_options *options, const qb__prepared *rows, const qb_env *env,
                             qb__prepare **prepare);
/* Whether the passes read every view of every row, those of its own where ranks share them. */
bool qb__prepare_reads_all(const qb_scan_info *info, const qb_prep_options *options);
/* Its numbers were raised to the floor by who hands them out: smaller ones are what corrections made of them. */
void qb__prepare_free_floor(qb__prepare *prepare);
/* Bytes it will hold, for planning. */
size_t qb__prepare_bytes(const qb_scan_info *info, const qb_prep_options *options, size_t rows);
/* Seconds that making it is forecast to take on so many threads. */
double qb__prepare_seconds(const qb_scan_info *info, const qb_prep_options *options, size_t rows, int threads);
void qb__prepare_destroy(qb__prepare *prepare); /* NULL-safe */
/* One detector row of one view, as qb__prep_row; `row` counts from the scan's first. */
void qb__prepare_row(const qb__prepare *prepare, size_t view, size_t row, const void *raw, float *out,
                     qb__prep_counts *counts);
/* Rows row0 <= row < row0 + rows of one view, as they lie one behind the other, raw and prepared. */
void qb__prepare_view(const qb__prepare *prepare, size_t view, size_t row0, size_t rows, const void *raw, float *out,
                      qb__prep_counts *counts);
/* Of numbers to line integrals that takes one thread so many a second, about. */
#define QB__PREPARED 0.5e9
/* The steps, for devices that do them by themselves; row 0 of their fields is the first prepared, of
 * qb__prepare_rows_held: qb__prepare_first_row of the scan. */
const qb__prep *qb__prepare_steps(const qb__prepare *prepare);
size_t qb__prepare_rows_held(const qb__prepare *prepare);
size_t qb__prepare_first_row(const qb__prepare *prepare);
/* The door through which its rows come; NULL: no step looks at neighbours. */
struct qb__neighbours *qb__prepare_neighbours(const qb__prepare *prepare);
/* How flats change over the views, into what a device is told; the rest of it is there. */
struct qb__device_prep;
void qb__prep_drift(const qb__prep *prep, struct qb__device_prep *device);
/* The macros of the steps that prepare_rows.clh must be told of. */
void qb__prep_define(const qb__prep *prep, qb__macros *macros);

/* Read and prepare rows row0 <= row < row1, all among the prepared, of all views:
 * sinograms[row][view][column]. */
qb_status qb__prepare_rows(const qb__prepare *prepare, qb_scan *scan, size_t row0, size_t row1, qb__pool *pool,
                           float *sinograms, qb__prep_counts *counts);
/* Only what is read from now on is counted. */
void qb__prepare_recount(qb__prepare *prepare);
/* What was mended, summed over the threads' counts: into the report, and as warnings. Returns the report's entry. */
const cJSON *qb__prepare_report(const qb__prepare *prepare, const qb__prep_counts *counts, int threads, cJSON *report,
                                const qb_env *env);
/* A volume of nothing but mended values is no result: QB_BAD_INPUT when that is all there was. */
qb_status qb__prepare_check(const char *path, const qb__prep_counts *counts, int threads);
void qb__prep_counts_add(qb__prep_counts *sum, const qb__prep_counts *more);

#endif
