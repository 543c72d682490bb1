/* SPDX-License-Identifier: MIT */
#include "bp_cone_pairs_avx512.h"
#include "cpu/features.h"

/* A product of 16-bit pairs interpolates along v in integers, with weights in 1 / 16383. */
INLINE vector sample(const ray *r, reading how, lanes on, vector u, vector v) {
    const cell c = cell_of(r, how.far, u, v);
    __m512i left, right;
    fetch(floor_origin(r), how, on, c.index, &left, &right);
    /* The low bits of the sum are round(16383 v); low half of the weights: 16383 minus that, high half: that. */
    __m512i below = _mm512_castps_si512(vector_fma(c.v, vector_set1(WEIGHTS), vector_set1(0x1p23f)));
    __m512i weights = _mm512_ternarylogic_epi32(_mm512_slli_epi32(below, 16), below, _mm512_set1_epi32(WEIGHTS), 0xf2);
    vector a = _mm512_cvtepi32_ps(_mm512_madd_epi16(left, weights));
    vector b = _mm512_cvtepi32_ps(_mm512_madd_epi16(right, weights));
    return vector_fma(c.u, _mm512_sub_ps(b, a), a);
}

const qb__bp_cone_variant qb__bp_cone_matrix_avx512 = {.head = {.id = "bp_cone_matrix.avx512",
                                                                .operation = QB__BP_CONE,
                                                                .features = QB__CPU_AVX512,
                                                                .accuracy = QB_ACCURACY_NORMAL,
                                                                .speed = 2.5,
                                                                .unusable = pairs_unusable},
                                                       PACK_PAIRS,
                                                       MATRIX_VARIANT};
