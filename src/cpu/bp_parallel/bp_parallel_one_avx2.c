/* SPDX-License-Identifier: MIT */
#include "bp_parallel_square_avx2.h"

#include "bp_parallel_one.h"

/* Only signed integers can be compared and converted. */
INLINE whole cells_of(const steps *s, whole low) {
    const __m256i sign = _mm256_set1_epi32(INT32_MIN);
    const __m256i carry = _mm256_cmpgt_epi32(_mm256_xor_si256(whole_load(s->low), sign), _mm256_xor_si256(low, sign));
    return _mm256_sub_epi32(whole_load(s->high), carry);
}

INLINE vector weight_of(whole low) {
    return _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_srli_epi32(low, 8)), _mm256_set1_ps(0x1p-24f));
}

const qb__bp_parallel_variant qb__bp_parallel_linear_avx2_one = ONE_VARIANT("bp_parallel_linear.avx2", 4.0);
