/* SPDX-License-Identifier: MIT */
#pragma once

#include "recon/mbir/mbir.h"

/* Some sinograms of the scan: lines[i][view][column] of detector row row[i]. */
typedef struct qb__mbir_sample {
    const float *lines;
    const size_t *row;
    size_t rows;
    double limit; /* larger line integrals are outliers */
} qb__mbir_sample;

/* Compare the line integrals of the given images (--start, --prox, --reference) with those of the scan along some
 * thousand rays. Warns of an image with another scale, unit, orientation or position if the corrected image fits much
 * better. QB_BAD_INPUT for a start that is much farther from the scan than zeros. */
qb_status qb__mbir_fit_check(const qb__mbir *m, const qb__mbir_sample *sample, const qb_env *env);
