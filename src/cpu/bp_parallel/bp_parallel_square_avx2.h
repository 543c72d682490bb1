/* SPDX-License-Identifier: MIT */
/* AVX2 for bp_parallel_square.h. */
#include "bp_parallel_rows.h"
#include "cpu/features.h"

#include <immintrin.h>

#define FEATURES QB__CPU_AVX2
#define WIDTH 8
typedef __m256 vector;
typedef __m256i whole;
#define vector_load _mm256_loadu_ps
#define vector_store _mm256_storeu_ps
#define vector_set1 _mm256_set1_ps
#define vector_add _mm256_add_ps
#define vector_sub _mm256_sub_ps
#define vector_mul _mm256_mul_ps
#define vector_fma _mm256_fmadd_ps
#define whole_load(from) _mm256_loadu_si256((const __m256i *)(from))
#define whole_store(to, value) _mm256_storeu_si256((__m256i *)(to), value)
#define whole_set1 _mm256_set1_epi32
#define whole_add _mm256_add_epi32
#include "bp_parallel_square.h"

INLINE vector window(whole cell, const float *cells) { return _mm256_permutevar8x32_ps(_mm256_loadu_ps(cells), cell); }

INLINE vector gather(whole cell, int32_t last, const float *cells) {
    cell = _mm256_max_epi32(cell, _mm256_setzero_si256());
    cell = _mm256_min_epi32(cell, _mm256_set1_epi32(last));
    return _mm256_i32gather_ps(cells, cell, 4);
}

INLINE whole rows_split(int32_t *cells, int64_t q, int64_t b, int32_t low, int32_t high) {
    /* Rows in the order 0 1 4 5 and 2 3 6 7: the shuffles below sort them. */
    __m256i first = _mm256_set_epi64x(q + 5 * b, q + 4 * b, q + b, q);
    __m256 top = _mm256_castsi256_ps(first);
    __m256 below = _mm256_castsi256_ps(_mm256_add_epi64(first, _mm256_set1_epi64x(2 * b)));
    __m256i cell = _mm256_castps_si256(_mm256_shuffle_ps(top, below, 0xdd));
    cell = _mm256_max_epi32(cell, _mm256_set1_epi32(low));
    cell = _mm256_min_epi32(cell, _mm256_set1_epi32(high));
    _mm256_store_si256((__m256i *)cells, _mm256_add_epi32(cell, _mm256_set1_epi32(GUARD)));
    return _mm256_castps_si256(_mm256_shuffle_ps(top, below, 0x88));
}
