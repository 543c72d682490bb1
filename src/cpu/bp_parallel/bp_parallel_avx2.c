/* SPDX-License-Identifier: MIT */
#include "bp_parallel_rows.h"
#include "cpu/features.h"

#include <immintrin.h>

/* Transpose 8x8 floats in place. */
static inline void transpose_8x8(float square[8][8]) {
    __m256 r[8], t[8];
    for (int i = 0; i < 8; i++) r[i] = _mm256_load_ps(square[i]);
    for (int i = 0; i < 8; i += 2) {
        t[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
        t[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
    }
    for (int i = 0; i < 8; i += 4) {
        r[i] = _mm256_shuffle_ps(t[i], t[i + 2], 0x44);
        r[i + 1] = _mm256_shuffle_ps(t[i], t[i + 2], 0xee);
        r[i + 2] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0x44);
        r[i + 3] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0xee);
    }
    for (int i = 0; i < 4; i++) {
        _mm256_store_ps(square[i], _mm256_permute2f128_ps(r[i], r[i + 4], 0x20));
        _mm256_store_ps(square[i + 4], _mm256_permute2f128_ps(r[i], r[i + 4], 0x31));
    }
}

#define FEATURES QB__CPU_AVX2
#define WIDTH 8
#define PIXELS 2
#define BLOCK_VIEWS 16
typedef __m256 vector;
#define vector_load _mm256_loadu_ps
#define vector_store _mm256_storeu_ps
#define vector_stream _mm256_store_ps /* streaming half a cache line would be slow */
#define stream_fence() (void)0
#define vector_set1 _mm256_set1_ps
#define vector_add _mm256_add_ps
#define vector_sub _mm256_sub_ps
#define vector_fma _mm256_fmadd_ps
#define transpose transpose_8x8
#include "bp_parallel_float.h"

/* A shuffle separates the halves of two vectors of four 64-bit coordinates, but only within 128-bit lanes; in this
 * order the result is sorted. */
static const unsigned char step_order[16] = {0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15};

INLINE void cells_fill(cells *out, const start *s, int64_t q, int32_t columns, uint32_t column_bytes, uint32_t bias,
                       bool linear) {
    if (!linear) q += INT64_C(1) << 31;
    __m256i first = _mm256_set1_epi64x(q);
    for (int i = 0; i < 16; i += 8) {
        const __m256i *step = (const __m256i *)(s->step + i);
        __m256 low = _mm256_castsi256_ps(_mm256_add_epi64(first, _mm256_load_si256(step)));
        __m256 high = _mm256_castsi256_ps(_mm256_add_epi64(first, _mm256_load_si256(step + 1)));
        __m256i column = _mm256_castps_si256(_mm256_shuffle_ps(low, high, 0xdd));
        column = _mm256_max_epi32(column, _mm256_set1_epi32(-GUARD));
        column = _mm256_min_epi32(column, _mm256_set1_epi32(columns));
        __m256i offset = _mm256_mullo_epi32(column, _mm256_set1_epi32((int)column_bytes));
        offset = _mm256_add_epi32(offset, _mm256_set1_epi32((int)bias));
        _mm256_storeu_si256((__m256i *)(out->offset + i), offset);
        if (!linear) continue;
        /* Only signed integers can be converted: 24 bits of the fraction, exact in a float. */
        __m256i fraction = _mm256_srli_epi32(_mm256_castps_si256(_mm256_shuffle_ps(low, high, 0x88)), 8);
        __m256 weight = _mm256_mul_ps(_mm256_cvtepi32_ps(fraction), _mm256_set1_ps(0x1p-24f));
        _mm256_storeu_ps(out->weight + i, weight);
    }
}

const qb__bp_parallel_variant qb__bp_parallel_linear_avx2 =
    LANES_VARIANT("bp_parallel_linear.avx2", linear, QB_INTERP_LINEAR, 18.0, &qb__bp_parallel_linear_avx2_one);
const qb__bp_parallel_variant qb__bp_parallel_nearest_avx2 =
    LANES_VARIANT("bp_parallel_nearest.avx2", nearest, QB_INTERP_NEAREST, 30.0, NULL);
