/* SPDX-License-Identifier: MIT */
#include "bp_parallel_rows.h"
#include "cpu/features.h"

#include <immintrin.h>

#define FEATURES QB__CPU_AVX2
#define WIDTH 8
typedef __m256 vector;
#define vector_load _mm256_loadu_ps
#define vector_store _mm256_storeu_ps
#define vector_set1 _mm256_set1_ps
#define vector_add _mm256_add_ps
#define vector_fma _mm256_fmadd_ps
#include "bp_parallel_slice.h"

INLINE vector vector_rest(vector r, vector named) {
    return _mm256_sub_ps(r, _mm256_sub_ps(named, _mm256_set1_ps(ROUND)));
}

INLINE vector vector_window(vector named, const float *cells) {
    return _mm256_permutevar8x32_ps(_mm256_loadu_ps(cells), _mm256_castps_si256(named));
}

INLINE vector vector_gather(vector r, int32_t first, int32_t last, const float *cells) {
    __m256i cell = _mm256_add_epi32(_mm256_cvtps_epi32(r), _mm256_set1_epi32(first));
    cell = _mm256_max_epi32(cell, _mm256_setzero_si256());
    cell = _mm256_min_epi32(cell, _mm256_set1_epi32(last));
    return _mm256_i32gather_ps(cells, cell, 4);
}

INLINE void rows_fill(rows *out, int64_t q, int64_t b, int32_t low, int32_t high) {
    /* Rows in the order 0 1 4 5 and 2 3 6 7: the shuffles below sort them. */
    __m256i first = _mm256_set_epi64x(q + 5 * b, q + 4 * b, q + b, q);
    __m256 top = _mm256_castsi256_ps(first);
    __m256 below = _mm256_castsi256_ps(_mm256_add_epi64(first, _mm256_set1_epi64x(2 * b)));
    __m256i cell = _mm256_castps_si256(_mm256_shuffle_ps(top, below, 0xdd));
    cell = _mm256_max_epi32(cell, _mm256_set1_epi32(low));
    cell = _mm256_min_epi32(cell, _mm256_set1_epi32(high));
    _mm256_store_si256((__m256i *)out->cell, _mm256_add_epi32(cell, _mm256_set1_epi32(GUARD)));
    /* Twenty bits: with more bits, r could round up to the next window. */
    __m256i fraction = _mm256_castps_si256(_mm256_shuffle_ps(top, below, 0x88));
    fraction = _mm256_srli_epi32(fraction, 12);
    _mm256_store_ps(out->rest,
                    _mm256_fmadd_ps(_mm256_cvtepi32_ps(fraction), _mm256_set1_ps(0x1p-20f), _mm256_set1_ps(-0.5f)));
}

const qb__bp_parallel_variant qb__bp_parallel_linear_avx2_slice = SLICE_VARIANT("bp_parallel_linear.avx2_slice", 5.7);
