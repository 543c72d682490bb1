/* SPDX-License-Identifier: MIT */
#include "bp_parallel_rows.h"
#include "cpu/features.h"

#include <immintrin.h>

#define FEATURES QB__CPU_AVX512
#define WIDTH 16
typedef __m512 vector;
#define vector_load _mm512_loadu_ps
#define vector_store _mm512_storeu_ps
#define vector_set1 _mm512_set1_ps
#define vector_add _mm512_add_ps
#define vector_fma _mm512_fmadd_ps
#include "bp_parallel_slice.h"

INLINE vector vector_rest(vector r, vector named) {
    (void)named;
    return _mm512_reduce_ps(r, 0);
}

INLINE vector vector_window(vector named, const float *cells) {
    return _mm512_permutexvar_ps(_mm512_castps_si512(named), _mm512_loadu_ps(cells));
}

INLINE vector vector_gather(vector r, int32_t first, int32_t last, const float *cells) {
    __m512i cell = _mm512_add_epi32(_mm512_cvtps_epi32(r), _mm512_set1_epi32(first));
    cell = _mm512_max_epi32(cell, _mm512_setzero_si512());
    cell = _mm512_min_epi32(cell, _mm512_set1_epi32(last));
    return _mm512_i32gather_ps(cell, cells, 4);
}

INLINE void rows_fill(rows *out, int64_t q, int64_t b, int32_t low, int32_t high) {
    const __m512i upper = _mm512_set_epi32(31, 29, 27, 25, 23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1);
    const __m512i lower = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
    __m512i step = _mm512_mullo_epi64(_mm512_set1_epi64(b), _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0));
    __m512i top = _mm512_add_epi64(_mm512_set1_epi64(q), step);
    __m512i below = _mm512_add_epi64(_mm512_set1_epi64(q + 8 * b), step);
    __m512i cell = _mm512_permutex2var_epi32(top, upper, below);
    cell = _mm512_max_epi32(cell, _mm512_set1_epi32(low));
    cell = _mm512_min_epi32(cell, _mm512_set1_epi32(high));
    _mm512_store_si512(out->cell, _mm512_add_epi32(cell, _mm512_set1_epi32(GUARD)));
    /* Twenty bits: with more bits, r could round up to the next window. */
    __m512i fraction = _mm512_srli_epi32(_mm512_permutex2var_epi32(top, lower, below), 12);
    _mm512_store_ps(out->rest,
                    _mm512_fmadd_ps(_mm512_cvtepi32_ps(fraction), _mm512_set1_ps(0x1p-20f), _mm512_set1_ps(-0.5f)));
}

const qb__bp_parallel_variant qb__bp_parallel_linear_avx512_slice =
    SLICE_VARIANT("bp_parallel_linear.avx512_slice", 12.5);
