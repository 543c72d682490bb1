/* SPDX-License-Identifier: MIT */
#define QB_RESAMPLE qb__resample_loop_scalar
#include "cpu/rows/resample_row_body.h"

#include "cpu/features.h"

qb__resample_loop *qb__resample_loop_choose(uint32_t features) {
#if defined(__x86_64__)
    if (features & QB__CPU_AVX2) return qb__resample_loop_avx2;
#endif
    (void)features;
    return qb__resample_loop_scalar;
}
