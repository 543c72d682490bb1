/* SPDX-License-Identifier: MIT */
#pragma once

#include "icd.h"

extern const qb__icd_variant qb__icd_scalar, qb__icd_avx2, qb__icd_avx512;

/* Columns that four neighbouring voxels touch together in a view. */
size_t qb__icd_block_width(const qb__footprints *footprints);
