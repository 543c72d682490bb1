/* SPDX-License-Identifier: MIT */
#include "bp_cone_vectors_avx2.h"
#include "bp_cone_float.h"
#include "cpu/features.h"

INLINE vector sample(const ray *r, reading how, lanes on, vector u, vector v) {
    const cell c = cell_of(r, how.far, u, v);
    __m256i upper_left, upper_right, lower_left, lower_right;
    fetch(r, how, on, c.index, &upper_left, &upper_right);
    fetch(r, how, on, _mm256_add_epi32(c.index, r->stride_cells), &lower_left, &lower_right);
    vector a = _mm256_castsi256_ps(upper_left), b = _mm256_castsi256_ps(upper_right);
    vector d = _mm256_castsi256_ps(lower_left), e = _mm256_castsi256_ps(lower_right);
    vector upper = vector_fma(c.u, _mm256_sub_ps(b, a), a);
    vector lower = vector_fma(c.u, _mm256_sub_ps(e, d), d);
    return vector_fma(c.v, _mm256_sub_ps(lower, upper), upper);
}

const qb__bp_cone_variant qb__bp_cone_matrix_avx2_float = {.head = {.id = "bp_cone_matrix.avx2-float",
                                                                    .operation = QB__BP_CONE,
                                                                    .features = QB__CPU_AVX2,
                                                                    .accuracy = QB_ACCURACY_HIGH,
                                                                    .speed = 0.9,
                                                                    .unusable = matrix_unusable},
                                                           PACK_FLOAT,
                                                           MATRIX_VARIANT};
