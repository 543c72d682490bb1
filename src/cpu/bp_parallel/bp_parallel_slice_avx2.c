/* SPDX-License-Identifier: MIT */
#include "bp_parallel_square_avx2.h"

#include "bp_parallel_slice.h"

INLINE vector rest_of(vector r, vector named) { return _mm256_sub_ps(r, _mm256_sub_ps(named, _mm256_set1_ps(ROUND))); }

INLINE whole cells_of(vector named) { return _mm256_castps_si256(named); }
INLINE whole rounded(vector r) { return _mm256_cvtps_epi32(r); }
INLINE vector twenty_bits(whole fraction) { return _mm256_cvtepi32_ps(_mm256_srli_epi32(fraction, 12)); }

const qb__bp_parallel_variant qb__bp_parallel_linear_avx2_slice = SLICE_VARIANT("bp_parallel_linear.avx2_slice", 5.7);
