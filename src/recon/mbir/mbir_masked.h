/* SPDX-License-Identifier: MIT */
#ifndef QB_RECON_MBIR_MBIR_MASKED_H
#define QB_RECON_MBIR_MBIR_MASKED_H

#include "recon/mbir/mbir.h"

/* Lines that were not measured: preparation leaves NaN where a number is none, or its pixel's flat is dead. They weigh nothing.
 * Only the start's filtered back-projection needs numbers there: within a row its gaps are filled, and the views that have
 * any count for those that have none. */
typedef struct qb__mbir_masked {
    uint64_t values;      /* of a slab */
    size_t views;         /* of which no slice has any value */
    float *more;          /* [slice] as qb__icd_given's; NULL where all was measured */
    char told[320];       /* as qb__icd_given's: where the measured ones lie */
    double limit;         /* what lies beyond it is far from all others, ... */
    uint64_t far, counts; /* ... so many, of which these weigh something, ... */
    char where[96];       /* ... the first of them (of those, if there are any) */
    double negative;      /* share of these, ... */
    double mean, size;    /* ... their mean, and that of |y| */
} qb__mbir_masked;

/* Of `slices` from detector row `row` on; given weights become 0 there. QB_BAD_INPUT for a slice of which nothing was
 * measured. Release it also after a failure. */
qb_status qb__mbir_masked_find(const qb__mbir *m, size_t row, size_t slices, const float *lines, float *weights,
                               qb__pool *pool, qb__mbir_masked *masked);
void qb__mbir_masked_report(const qb__mbir *m, size_t row, size_t slices, const qb__mbir_masked *masked,
                            const qb_env *env);
/* Of data that are negative by and large positivity makes zeros, without a word. Whether it warned. */
bool qb__mbir_masked_warn(const qb__mbir *m, size_t row, size_t slices, const qb__mbir_masked *masked,
                          const qb_env *env);
/* Of values far from all others: they count in the image. Whether it warned. */
bool qb__mbir_far_warn(const qb__mbir *m, size_t row, size_t slices, const qb__mbir_masked *masked, const qb_env *env);
void qb__mbir_masked_note(const qb__mbir_masked *masked, cJSON *slab);
void qb__mbir_masked_release(qb__mbir_masked *masked);
size_t qb__mbir_masked_bytes(const qb__mbir *m, size_t slices);

#endif
