/* SPDX-License-Identifier: MIT */
#define QB_PAIRS qb__filter_pairs_scalar
#include "cpu/rows/filter_pairs_body.h"

#include "cpu/features.h"

qb__filter_pairs *qb__filter_pairs_choose(uint32_t features) {
#if defined(__x86_64__)
    if (features & QB__CPU_AVX512) return qb__filter_pairs_avx512;
    if (features & QB__CPU_AVX2) return qb__filter_pairs_avx2;
#endif
    (void)features;
    return qb__filter_pairs_scalar;
}
