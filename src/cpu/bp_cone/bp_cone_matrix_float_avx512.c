/* SPDX-License-Identifier: MIT */
#include "bp_cone_vectors_avx512.h"
#include "bp_cone_float.h"
#include "cpu/features.h"

INLINE vector sample(const ray *r, reading how, lanes on, vector u, vector v) {
    const cell c = cell_of(r, how.far, u, v);
    __m512i upper_left, upper_right, lower_left, lower_right;
    fetch(floor_origin(r), how, on, c.index, &upper_left, &upper_right);
    fetch(floor_origin(r), how, on, _mm512_add_epi32(c.index, r->stride_cells), &lower_left, &lower_right);
    vector a = _mm512_castsi512_ps(upper_left), b = _mm512_castsi512_ps(upper_right);
    vector d = _mm512_castsi512_ps(lower_left), e = _mm512_castsi512_ps(lower_right);
    vector upper = vector_fma(c.u, _mm512_sub_ps(b, a), a);
    vector lower = vector_fma(c.u, _mm512_sub_ps(e, d), d);
    return vector_fma(c.v, _mm512_sub_ps(lower, upper), upper);
}

const qb__bp_cone_variant qb__bp_cone_matrix_avx512_float = {.head = {.id = "bp_cone_matrix.avx512-float",
                                                                      .operation = QB__BP_CONE,
                                                                      .features = QB__CPU_AVX512,
                                                                      .accuracy = QB_ACCURACY_HIGH,
                                                                      .speed = 2.1,
                                                                      .unusable = matrix_unusable},
                                                             PACK_FLOAT,
                                                             MATRIX_VARIANT};
