/* SPDX-License-Identifier: MIT */
#ifndef QB_RECON_MBIR_MBIR_TRUNCATION_H
#define QB_RECON_MBIR_MBIR_TRUNCATION_H

#include "recon/mbir/mbir.h"

/* What was measured by rays that meet no voxel. Where it is something, the object reaches beyond the volume; rays through both
 * have all of it, and voxels on the rim come out too bright. */
typedef struct qb__mbir_truncation {
    double share; /* of the sum of |y| over all rays */
    size_t view;  /* where most of it is, ... */
    size_t wide;  /* ... and how many voxels the volume would have to be wide for all rays to meet it there */
} qb__mbir_truncation;

/* Of `slices`, but for lines beyond `limit` in size, and what was not measured: NaN, or given a weight of 0. */
qb_status qb__mbir_truncation_find(const qb__mbir *m, size_t slices, const float *lines, const float *weights,
                                   double limit, qb__pool *pool, qb__mbir_truncation *truncation);
/* Whether it warned: it is a hundredth or more. */
bool qb__mbir_truncation_warn(const qb__mbir *m, size_t row, size_t slices, const qb__mbir_truncation *truncation,
                              const qb_env *env);
void qb__mbir_truncation_note(const qb__mbir_truncation *truncation, cJSON *slab);
size_t qb__mbir_truncation_bytes(const qb__mbir *m);

#endif
