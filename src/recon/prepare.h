/* SPDX-License-Identifier: MIT */
#ifndef QB_RECON_PREPARE_H
#define QB_RECON_PREPARE_H

#include "base/pool.h"
#include "prep/prep.h"
#include "quickbeam/recon.h"

/* Everything that turns an open scan's numbers into line integrals: the mean flat and dark of all
 * rows, the air normalisation of every view, the floor. Made once, then read from any thread. */
typedef struct qb__prepare qb__prepare;

/* Reads the fields, and the air region of every view where one is asked for. Says what it decided. */
qb_status qb__prepare_create(qb_scan *scan, const qb_prep_options *options, const qb_env *env,
                             qb__prepare **prepare);
void qb__prepare_destroy(qb__prepare *prepare); /* NULL-safe */
size_t qb__prepare_bytes(const qb__prepare *prepare);
/* What qb__prep_row wants; its row indices are those of the scan. */
const qb__prep *qb__prepare_steps(const qb__prepare *prepare);
/* "columns 0..11 and 148..159, rows 0..134"; NULL without normalisation. */
const char *qb__prepare_air(const qb__prepare *prepare);
/* Pixels with a dead flat, in the whole field. */
uint64_t qb__prepare_dead_flats(const qb__prepare *prepare);

/* Read and prepare rows row0 <= row < row1 of all views: sinograms[row][view][column]. */
qb_status qb__prepare_rows(const qb__prepare *prepare, qb_scan *scan, size_t row0, size_t row1,
                           qb__pool *pool, float *sinograms, qb__prep_counts *counts);
void qb__prep_counts_add(qb__prep_counts *sum, const qb__prep_counts *more);

#endif
