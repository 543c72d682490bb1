/* SPDX-License-Identifier: MIT */
#include "cpu/features.h"
#include "cpu/prior/prior.h"

qb__prior_step *qb__prior_for_cpu(void) {
#if defined(__x86_64__)
    const uint32_t has = qb__cpu_features();
    if (has & QB__CPU_AVX512) return qb__prior_avx512;
    if (has & QB__CPU_AVX2) return qb__prior_avx2;
#endif
    return qb__prior_scalar;
}
