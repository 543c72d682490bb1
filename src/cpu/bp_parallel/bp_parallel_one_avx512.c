/* SPDX-License-Identifier: MIT */
#include "bp_parallel_square_avx512.h"

#include "bp_parallel_one.h"

INLINE whole cells_of(const steps *s, whole low) {
    const __mmask16 carry = _mm512_cmplt_epu32_mask(low, whole_load(s->low));
    return _mm512_mask_add_epi32(whole_load(s->high), carry, whole_load(s->high), _mm512_set1_epi32(1));
}

INLINE vector weight_of(whole low) { return _mm512_mul_ps(_mm512_cvtepu32_ps(low), _mm512_set1_ps(0x1p-32f)); }

const qb__bp_parallel_variant qb__bp_parallel_linear_avx512_one = ONE_VARIANT("bp_parallel_linear.avx512", 8.0);
