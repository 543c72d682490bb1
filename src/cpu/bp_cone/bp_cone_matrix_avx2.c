/* SPDX-License-Identifier: MIT */
#include "bp_cone_vectors_avx2.h"
#include "cpu/features.h"

static __m256i eight(const float *pixels, size_t x, lanes on, __m256 unit) {
    if (!pixels) return _mm256_setzero_si256();
    return _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_maskload_ps(pixels + x, on), unit));
}

static void pairs_fill(uint32_t *cells, const float *upper, const float *lower, size_t columns, float scale) {
    const __m256 unit = _mm256_set1_ps(scale);
    for (size_t x = 0; x < columns; x += WIDTH) {
        const lanes on = lanes_between(0, columns - x < WIDTH ? (int)(columns - x) : WIDTH);
        __m256i low = eight(upper, x, on, unit), high = eight(lower, x, on, unit);
        __m256i pair = _mm256_blend_epi16(low, _mm256_slli_epi32(high, 16), 0xaa);
        _mm256_maskstore_epi32((int *)cells + x, on, pair);
    }
}

#include "bp_cone_pairs.h"

/* A product of 16-bit pairs interpolates along v in integers, with weights in 1 / 16383. */
INLINE vector sample(const ray *r, reading how, lanes on, vector u, vector v) {
    const cell c = cell_of(r, how.far, u, v);
    __m256i left, right;
    fetch(r, how, on, c.index, &left, &right);
    __m256i below = _mm256_cvtps_epi32(_mm256_mul_ps(c.v, vector_set1(WEIGHTS)));
    __m256i above = _mm256_sub_epi32(integers_set1(WEIGHTS), below);
    __m256i weights = _mm256_or_si256(_mm256_slli_epi32(below, 16), above);
    vector a = _mm256_cvtepi32_ps(_mm256_madd_epi16(left, weights));
    vector b = _mm256_cvtepi32_ps(_mm256_madd_epi16(right, weights));
    return vector_fma(c.u, _mm256_sub_ps(b, a), a);
}

const qb__bp_cone_variant qb__bp_cone_matrix_avx2 = {.head = {.id = "bp_cone_matrix.avx2",
                                                              .operation = QB__BP_CONE,
                                                              .features = QB__CPU_AVX2,
                                                              .accuracy = QB_ACCURACY_NORMAL,
                                                              .speed = 1.3,
                                                              .unusable = pairs_unusable},
                                                     PACK_PAIRS,
                                                     MATRIX_VARIANT};
