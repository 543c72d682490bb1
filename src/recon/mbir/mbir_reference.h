/* SPDX-License-Identifier: MIT */
#pragma once

#include "recon/mbir/mbir.h"

/* --reference: the rms difference from an image after each sweep, over all voxels of a slab (and of all ranks that
 * share the descent), as qb compare computes it for outputs. */

bool qb__mbir_has_reference(const qb__mbir *m);
/* rmse of `slices` slices from `first` on, in the output's units; `room` holds one slice. Collective over ranks that
 * share the descent. */
qb_status qb__mbir_reference_rmse(const qb__mbir *m, const qb__icd_stack *stack, size_t first, size_t slices,
                                  float *room, double *rmse);
