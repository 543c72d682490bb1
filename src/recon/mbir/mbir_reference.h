/* SPDX-License-Identifier: MIT */
#ifndef QB_RECON_MBIR_MBIR_REFERENCE_H
#define QB_RECON_MBIR_MBIR_REFERENCE_H

#include "recon/mbir/mbir.h"

/* --reference: how far a descent is from an image after each turn, the root of the mean square over all voxels of a slab,
 * as qb compare has it of outputs; of ranks that turn together, of all. */

bool qb__mbir_has_reference(const qb__mbir *m);
/* In Hounsfield units it needs the water of --hu: QB_BAD_ARGUMENT without. */
qb_status qb__mbir_reference_units(qb__mbir *m, const qb_array_info *info);
/* 1/mm from here on. */
void qb__mbir_reference_convert(qb__mbir *m);
/* `slices` from `first` of the volume on, in the output's units; `room` for one. All ranks that turn together come here. */
qb_status qb__mbir_reference_rmse(const qb__mbir *m, const qb__icd_stack *stack, size_t first, size_t slices,
                                  float *room, double *rmse);

#endif
