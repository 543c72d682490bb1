/* SPDX-License-Identifier: MIT */
/* AVX-512 for bp_parallel_square.h. */
#include "bp_parallel_rows.h"
#include "cpu/features.h"

#include <immintrin.h>

#define FEATURES QB__CPU_AVX512
#define WIDTH 16
typedef __m512 vector;
typedef __m512i whole;
#define vector_load _mm512_loadu_ps
#define vector_store _mm512_storeu_ps
#define vector_set1 _mm512_set1_ps
#define vector_add _mm512_add_ps
#define vector_sub _mm512_sub_ps
#define vector_mul _mm512_mul_ps
#define vector_fma _mm512_fmadd_ps
#define whole_load _mm512_loadu_si512
#define whole_store _mm512_storeu_si512
#define whole_set1 _mm512_set1_epi32
#define whole_add _mm512_add_epi32
#include "bp_parallel_square.h"

INLINE vector window(whole cell, const float *cells) { return _mm512_permutexvar_ps(cell, _mm512_loadu_ps(cells)); }

INLINE vector gather(whole cell, int32_t last, const float *cells) {
    cell = _mm512_max_epi32(cell, _mm512_setzero_si512());
    cell = _mm512_min_epi32(cell, _mm512_set1_epi32(last));
    return _mm512_i32gather_ps(cell, cells, 4);
}

INLINE whole rows_split(int32_t *cells, int64_t q, int64_t b, int32_t low, int32_t high) {
    const __m512i upper = _mm512_set_epi32(31, 29, 27, 25, 23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1);
    const __m512i lower = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
    __m512i step = _mm512_mullo_epi64(_mm512_set1_epi64(b), _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0));
    __m512i top = _mm512_add_epi64(_mm512_set1_epi64(q), step);
    __m512i below = _mm512_add_epi64(_mm512_set1_epi64(q + 8 * b), step);
    __m512i cell = _mm512_permutex2var_epi32(top, upper, below);
    cell = _mm512_max_epi32(cell, _mm512_set1_epi32(low));
    cell = _mm512_min_epi32(cell, _mm512_set1_epi32(high));
    _mm512_store_si512(cells, _mm512_add_epi32(cell, _mm512_set1_epi32(GUARD)));
    return _mm512_permutex2var_epi32(top, lower, below);
}
