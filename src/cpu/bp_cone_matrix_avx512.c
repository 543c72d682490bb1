/* SPDX-License-Identifier: MIT */
#include "bp_cone_vectors_avx512.h"
#include "features.h"

static void pairs_fill(uint32_t *cells, const float *upper, const float *lower, size_t columns,
                       float scale) {
    const __m512 unit = _mm512_set1_ps(scale);
    for (size_t x = 0; x < columns; x += WIDTH) {
        const lanes on = lanes_between(0, columns - x < WIDTH ? (int)(columns - x) : WIDTH);
        __m512 a = upper ? _mm512_maskz_loadu_ps(on, upper + x) : _mm512_setzero_ps();
        __m512 b = lower ? _mm512_maskz_loadu_ps(on, lower + x) : _mm512_setzero_ps();
        __m512i low = _mm512_cvtps_epi32(_mm512_mul_ps(a, unit));
        __m512i high = _mm512_slli_epi32(_mm512_cvtps_epi32(_mm512_mul_ps(b, unit)), 16);
        _mm512_mask_storeu_epi32(cells + x, on, _mm512_mask_blend_epi16(0xaaaaaaaau, low, high));
    }
}

#include "bp_cone_pairs.h"

/* A product of 16-bit pairs interpolates along v in integers: weights in 1 / 16383. */
INLINE vector sample(const ray *r, reading how, lanes on, vector u, vector v) {
    const cell c = cell_of(r, how.far, u, v);
    __m512i left, right;
    fetch(r, how, on, c.index, &left, &right);
    /* The sum's low bits are round(16383 v); low half of the weights 16383 - that, high half that.
     */
    __m512i below =
        _mm512_castps_si512(vector_fma(c.v, vector_set1(WEIGHTS), vector_set1(0x1p23f)));
    __m512i weights = _mm512_ternarylogic_epi32(_mm512_slli_epi32(below, 16), below,
                                                _mm512_set1_epi32(WEIGHTS), 0xf2);
    vector a = _mm512_cvtepi32_ps(_mm512_madd_epi16(left, weights));
    vector b = _mm512_cvtepi32_ps(_mm512_madd_epi16(right, weights));
    return vector_fma(c.u, _mm512_sub_ps(b, a), a);
}

const qb__bp_cone_variant qb__bp_cone_matrix_avx512 = {.id = "bp_cone_matrix.avx512",
                                                       .features = QB__CPU_AVX512,
                                                       .accuracy = QB__ACCURACY_NORMAL,
                                                       .speed = 2.0,
                                                       .needs_largest = true,
                                                       .pack = pack_pairs,
                                                       MATRIX_VARIANT};
