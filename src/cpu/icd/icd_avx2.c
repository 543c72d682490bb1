/* SPDX-License-Identifier: MIT */
#include "cpu/features.h"
#include "icd_body.h"

const qb__icd_variant qb__icd_avx2 = ICD_VARIANT("icd_supervoxel.avx2", QB__CPU_AVX2, 2.8);
