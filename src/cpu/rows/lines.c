/* SPDX-License-Identifier: MIT */
#define QB_LINES qb__lines_scalar
#include "cpu/rows/lines_body.h"

#include "cpu/features.h"

const qb__lines *qb__lines_choose(uint32_t features) {
#if defined(__x86_64__)
    if (features & QB__CPU_AVX512) return &qb__lines_avx512;
    if (features & QB__CPU_AVX2) return &qb__lines_avx2;
#endif
    (void)features;
    return &qb__lines_scalar;
}
