/* SPDX-License-Identifier: MIT */
#pragma once

#include "recon/mbir/mbir.h"

/* qb mbir of a fan beam: the one row, or the few rows, of a detector whose rays each stay within a slice
 * (geometry/fan_plane.h). Voxels, weights, prior and descent are those of a parallel beam. The footprints are those of
 * a fan (cpu/icd/icd.h), and the start is an FDK reconstruction of the middle plane. */

/* Check that the scan fits the geometry of the options, and make the grid of all its rows. */
qb_status qb__mbir_fan_grid(qb__mbir *m, const qb_env *env);
/* Find the geometry of the plane and the positions of slices, after the rows and the extent of voxels are known. */
qb_status qb__mbir_fan_rows(qb__mbir *m, const qb_env *env, cJSON *json, qb_geometry *flat);
/* Prepare the start by filtered back-projection: weights and filter. */
qb_status qb__mbir_fan_filter(qb__mbir *m, const qb_env *env);
void qb__mbir_fan_release(qb__mbir *m);

/* Additional bytes that this start needs. */
size_t qb__mbir_fan_bytes(const qb__mbir *m, size_t slices);
/* Make the start image on the coarsest voxels; release *images with qb__free. */
qb_status qb__mbir_fan_start(const qb__mbir *m, size_t slices, const qb__icd_given *given, qb__pool *pool,
                             const qb_env *env, float **images);
