/* SPDX-License-Identifier: MIT */
#include "icd_body.h"

const qb__icd_variant qb__icd_scalar = ICD_VARIANT("icd_supervoxel.scalar", 0, 1.0);
