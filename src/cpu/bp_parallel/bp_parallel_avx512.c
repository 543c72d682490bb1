/* SPDX-License-Identifier: MIT */
#include "bp_parallel_rows.h"
#include "cpu/features.h"
#include "transpose_avx512.h"

#define FEATURES QB__CPU_AVX512
#define WIDTH 16
#define PIXELS 4
typedef __m512 vector;
#define vector_load _mm512_loadu_ps
#define vector_store _mm512_storeu_ps
#define vector_stream _mm512_stream_ps
#define stream_fence _mm_sfence
#define vector_set1 _mm512_set1_ps
#define vector_add _mm512_add_ps
#define vector_sub _mm512_sub_ps
#define vector_fma _mm512_fmadd_ps
#define transpose qb__transpose_16x16
#include "bp_parallel_float.h"

static const unsigned char step_order[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

INLINE void cells_fill(cells *out, const start *s, int64_t q, int32_t columns, uint32_t column_bytes, uint32_t bias,
                       bool linear) {
    const __m512i upper = _mm512_set_epi32(31, 29, 27, 25, 23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1);
    const __m512i lower = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
    if (!linear) q += INT64_C(1) << 31;
    __m512i first = _mm512_set1_epi64(q);
    __m512i low = _mm512_add_epi64(first, _mm512_load_si512(s->step));
    __m512i high = _mm512_add_epi64(first, _mm512_load_si512(s->step + 8));
    __m512i column = _mm512_permutex2var_epi32(low, upper, high);
    column = _mm512_max_epi32(column, _mm512_set1_epi32(-GUARD));
    column = _mm512_min_epi32(column, _mm512_set1_epi32(columns));
    __m512i offset = _mm512_mullo_epi32(column, _mm512_set1_epi32((int)column_bytes));
    offset = _mm512_add_epi32(offset, _mm512_set1_epi32((int)bias));
    _mm512_storeu_si512(out->offset, offset);
    if (!linear) return;
    __m512i fraction = _mm512_permutex2var_epi32(low, lower, high);
    __m512 weight = _mm512_mul_ps(_mm512_cvtepu32_ps(fraction), _mm512_set1_ps(0x1p-32f));
    _mm512_storeu_ps(out->weight, weight);
}

const qb__bp_parallel_variant qb__bp_parallel_linear_avx512 =
    LANES_VARIANT("bp_parallel_linear.avx512", linear, QB_INTERP_LINEAR, 34.0, &qb__bp_parallel_linear_avx512_one);
const qb__bp_parallel_variant qb__bp_parallel_nearest_avx512 =
    LANES_VARIANT("bp_parallel_nearest.avx512", nearest, QB_INTERP_NEAREST, 45.0, NULL);
