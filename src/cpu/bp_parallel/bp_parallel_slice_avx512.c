/* SPDX-License-Identifier: MIT */
#include "bp_parallel_square_avx512.h"

#include "bp_parallel_slice.h"

INLINE vector rest_of(vector r, vector named) {
    (void)named;
    return _mm512_reduce_ps(r, 0);
}

INLINE whole cells_of(vector named) { return _mm512_castps_si512(named); }
INLINE whole rounded(vector r) { return _mm512_cvtps_epi32(r); }
INLINE vector twenty_bits(whole fraction) { return _mm512_cvtepi32_ps(_mm512_srli_epi32(fraction, 12)); }

const qb__bp_parallel_variant qb__bp_parallel_linear_avx512_slice =
    SLICE_VARIANT("bp_parallel_linear.avx512_slice", 12.5);
