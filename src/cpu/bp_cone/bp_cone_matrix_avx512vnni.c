/* SPDX-License-Identifier: MIT */
/* The 16-bit pairs of bp_cone_matrix.avx512, interpolated in integers in both directions: coordinates in 1 / 65536 of a
 * pixel, whose high word is the pixel and low word the weight. Four 16-bit weights, products of 15 and 16 bits, are
 * applied to the four taps by two dot products. */
#define COORDINATES 65536.0
#define PAIR_WEIGHTS 32767
#define STRIDE_UNIT 65536 /* a high word: the low one meets fractions */
#include "bp_cone_pairs_avx512.h"
#include "cpu/features.h"

/* Pixels and the stride are 16-bit words too. */
static const char *vnni_unusable(const struct qb__device_info *device, const void *of, const int *values) {
    const qb__bp_cone_problem *p = of;
    if (cell_stride(p) >= 32768 || p->rows >= 32700) return "a view is too large for 16-bit indices";
    return pairs_unusable(device, of, values);
}

/* Two weights: the low word of each number without its last bit, as (32767 - word, word). */
INLINE __m512i weights_of(integers v) {
    const __m512i bits = _mm512_set1_epi64(0x2921292109010901);
    const __m512i words = _mm512_multishift_epi64_epi8(bits, v);
    return _mm512_ternarylogic_epi32(words, _mm512_set1_epi32(0x7fff7fff), _mm512_set1_epi32(0x00007fff), 0x6a);
}

/* The low word of each number, in both halves. */
INLINE __m512i twice(integers u) {
    const __m512i bytes = _mm512_set4_epi32(0x0d0c0d0c, 0x09080908, 0x05040504, 0x01000100);
    return _mm512_shuffle_epi8(u, bytes);
}

INLINE vector sample(const ray *r, reading how, lanes on, vector u, vector v) {
    const integers across = _mm512_cvtps_epi32(u), down = _mm512_cvtps_epi32(v);
    const integers index = _mm512_dpwssd_epi32(_mm512_srai_epi32(across, 16), down, r->stride_cells);
    __m512i left, right;
    fetch(r->origin, how, on, index, &left, &right);
    const __m512i both = weights_of(down), of_right = _mm512_mulhi_epu16(both, twice(across));
    const __m512i of_left = _mm512_sub_epi16(both, of_right);
    return _mm512_cvtepi32_ps(_mm512_dpwssd_epi32(_mm512_madd_epi16(left, of_left), right, of_right));
}

const qb__bp_cone_variant qb__bp_cone_matrix_avx512vnni = {.head = {.id = "bp_cone_matrix.avx512vnni",
                                                                    .operation = QB__BP_CONE,
                                                                    .features = QB__CPU_AVX512 | QB__CPU_AVX512VNNI,
                                                                    .accuracy = QB_ACCURACY_NORMAL,
                                                                    .speed = 3.0,
                                                                    .unusable = vnni_unusable},
                                                           PACK_PAIRS,
                                                           MATRIX_VARIANT};
