/* SPDX-License-Identifier: MIT */
#pragma once

#include "io/scan/scan.h"

/* Images without distortion and shifts, for one job: a scan of its own, whose transmissions are interpolated in the
 * given scan (ops/resample.h) and returned as float32 numbers of the same quantity. It follows the flat field:
 * resampled counts and flats would leave rings. */
typedef struct qb__warp qb__warp;

static inline bool qb__warp_wanted(const qb_scan *scan) { return scan->distortion.factors || scan->info.shifts; }
/* "distortion and shifts of views" */
const char *qb__warp_text(const qb_scan *scan);
/* *warp is NULL if the scan has neither. The given scan must outlive it. */
qb_status qb__warp_create(qb_scan *scan, const qb_env *env, qb__warp **warp);
void qb__warp_destroy(qb__warp *warp);                                      /* NULL-safe */
qb_scan *qb__warp_scan(qb__warp *warp);                                     /* the job's scan */
double qb__warp_seconds(const qb__warp *warp, double numbers, int threads); /* see qb__phase_seconds */
size_t qb__warp_bytes(const qb__warp *warp);                                /* memory while reading */
/* Reads that scan, but takes the stored numbers from `reader`; NULL: from the scan itself. */
qb_status qb__warp_read(qb__warp *warp, qb__row_reader *reader, size_t view0, size_t view1, size_t row0, size_t row1,
                        void *out);

/* Changes row0 <= row < row1 to the rows of the stored images from which these rows are computed in any view. `margin`:
 * rows that a filter behind reads on both sides. */
void qb__warp_margin(qb__warp *warp, size_t margin);
qb_status qb__warp_rows(qb__warp *warp, size_t *row0, size_t *row1);
/* From now on numbers of the stored rows row0 <= row < row1 are corrected before they are resampled:
 * field[row][column] is subtracted from line integrals, and is the factor of transmissions, 0 where a pixel has no
 * value. Takes over `field`. */
void qb__warp_correct(qb__warp *warp, size_t row0, size_t row1, float *field);
