/* SPDX-License-Identifier: MIT */
#include "cpu/features.h"

#include <immintrin.h>

#define WIDTH 16
typedef __m512 vector;
typedef __m512i places;
#define vector_load _mm512_loadu_ps
#define vector_store _mm512_storeu_ps
#define vector_set1 _mm512_set1_ps
#define vector_add _mm512_add_ps
#define vector_sub _mm512_sub_ps
#define vector_mul _mm512_mul_ps
#define vector_fma _mm512_fmadd_ps
#define vector_lanes() _mm512_set_ps(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)

/* Adding this constant with rounding down leaves the floor in the low bits, which permutes use. */
static inline places split(vector r, vector *rest) {
    const vector magic = _mm512_set1_ps(0x1.8p23f);
    vector named = _mm512_add_round_ps(r, magic, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
    *rest = _mm512_sub_ps(r, _mm512_sub_ps(named, magic));
    return _mm512_castps_si512(named);
}

static inline void taps(const float *cells, places at, vector *below, vector *above) {
    const vector low = _mm512_loadu_ps(cells), high = _mm512_loadu_ps(cells + WIDTH);
    *below = _mm512_permutex2var_ps(low, at, high);
    *above = _mm512_permutex2var_ps(low, _mm512_add_epi32(at, _mm512_set1_epi32(1)), high);
}

#include "bp_cone_circular.h"

const qb__bp_cone_variant qb__bp_cone_circular_avx512 =
    CIRCULAR_VARIANT("bp_cone_circular.avx512", QB__CPU_AVX512, 5.1);
