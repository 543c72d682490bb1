/* SPDX-License-Identifier: MIT */
#pragma once

#include "recon/mbir/mbir.h"

/* Line integrals of rays that hit no voxel. If they are not zero, the object extends beyond the volume, and voxels at
 * the edge of the volume become too bright. */
typedef struct qb__mbir_truncation {
    double share; /* their share of the sum of |y| over all rays */
    size_t view;  /* the view with the largest share */
    size_t wide;  /* width in voxels of a volume that all rays of that view hit */
} qb__mbir_truncation;

/* Measure the attenuation outside the volume over `slices` slices. Values above `limit` and masked ones (NaN, or weight
 * 0) are left out. */
qb_status qb__mbir_truncation_find(const qb__mbir *m, size_t slices, const float *lines, const float *weights,
                                   double limit, qb__pool *pool, qb__mbir_truncation *truncation);
/* Warn if the share is 1 % or more. Returns true if it warned. */
bool qb__mbir_truncation_warn(const qb__mbir *m, size_t row, size_t slices, const qb__mbir_truncation *truncation,
                              const qb_env *env);
void qb__mbir_truncation_note(const qb__mbir_truncation *truncation, cJSON *slab);
size_t qb__mbir_truncation_bytes(const qb__mbir *m);
