/* SPDX-License-Identifier: MIT */
#include "cpu/features.h"
#include "icd_body.h"

const qb__icd_variant qb__icd_avx512 = ICD_VARIANT("icd_supervoxel.avx512", QB__CPU_AVX512, 6.0);
