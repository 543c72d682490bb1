/* SPDX-License-Identifier: MIT */
#pragma once

#include "recon/mbir/mbir.h"

/* Masked line integrals. Preparation leaves NaN there, and their weight is 0. Only the filtered back-projection of the
 * start needs numbers: gaps within a row are filled, and views without any value are replaced by other views. */
typedef struct qb__mbir_masked {
    uint64_t values;      /* masked line integrals of the slab */
    size_t views;         /* views without any value in the slab */
    float *more;          /* [slice] as qb__icd_given.more; NULL if all was measured */
    char told[320];       /* as qb__icd_given.told: the range of the measured values */
    double limit;         /* larger values count as outliers */
    uint64_t far, counts; /* number of outliers, and of those with a positive weight */
    char where[96];       /* position of the first outlier, preferably one with a weight */
} qb__mbir_masked;

/* Find masked values in `slices` slices from detector row `row` on, and set their weights to 0. QB_BAD_INPUT if a slice
 * has no measured value. Release the result also after a failure. */
qb_status qb__mbir_masked_find(const qb__mbir *m, size_t row, size_t slices, const float *lines, float *weights,
                               qb__pool *pool, qb__mbir_masked *masked);
void qb__mbir_masked_report(const qb__mbir *m, size_t row, size_t slices, const qb__mbir_masked *masked,
                            const qb_env *env);
/* Warn of outliers that affect the image. Returns true if it warned. */
bool qb__mbir_far_warn(const qb__mbir *m, size_t row, size_t slices, const qb__mbir_masked *masked, const qb_env *env);
void qb__mbir_masked_note(const qb__mbir_masked *masked, cJSON *slab);
void qb__mbir_masked_release(qb__mbir_masked *masked);
size_t qb__mbir_masked_bytes(const qb__mbir *m, size_t slices);
