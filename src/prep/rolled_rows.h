/* SPDX-License-Identifier: MIT */
#pragma once

#include "geometry/roll.h"
#include "ops/resample.h"
#include "prep/prepare.h"

/* Line integrals of rows of a level detector, resampled from those of a detector that is rotated in its plane
 * (geometry/roll.h). */
typedef struct qb__rolled_rows {
    const qb__roll *roll;
    const qb__resampler *resampler;
    const qb_scan_info *info;
    qb_pad pad; /* continuation of a row beyond what the rotated detector measured */
} qb__rolled_rows;

/* Real rows needed for level rows row0 <= row < row1, and an upper limit of their number for `count` level rows. */
void qb__rolled_rows_window(const qb__rolled_rows *rolled, size_t row0, size_t row1, size_t *first, size_t *end);
size_t qb__rolled_rows_most(const qb__rolled_rows *rolled, size_t count);
/* Bytes of scratch for `count` rows. */
size_t qb__rolled_rows_scratch(const qb__rolled_rows *rolled, size_t count);
/* Computes `count` level rows row0, row0 + step, ... of one view from the raw numbers of the window of these rows. Row
 * i goes to out + i * stride. Without `prepare`, raw numbers are line integrals, as float. */
void qb__rolled_rows_view(const qb__rolled_rows *rolled, const qb__prepare *prepare, size_t view, size_t row0,
                          size_t step, size_t count, const char *raw, float *out, size_t stride, void *scratch,
                          qb__prep_counts *counts);
