/* SPDX-License-Identifier: MIT */
#include "cpu/features.h"

#include <immintrin.h>

#define WIDTH 8
typedef __m256 vector;
typedef __m256i places;
#define vector_load _mm256_loadu_ps
#define vector_store _mm256_storeu_ps
#define vector_set1 _mm256_set1_ps
#define vector_add _mm256_add_ps
#define vector_sub _mm256_sub_ps
#define vector_mul _mm256_mul_ps
#define vector_fma _mm256_fmadd_ps
#define vector_lanes() _mm256_set_ps(7, 6, 5, 4, 3, 2, 1, 0)

static inline places split(vector r, vector *rest) {
    vector below = _mm256_floor_ps(r);
    *rest = _mm256_sub_ps(r, below);
    return _mm256_cvttps_epi32(below);
}

/* A permute uses the low three bits of a position; the fourth selects the register. */
static inline vector tap(vector low, vector high, places at) {
    vector from_high = _mm256_castsi256_ps(_mm256_slli_epi32(at, 28));
    return _mm256_blendv_ps(_mm256_permutevar8x32_ps(low, at), _mm256_permutevar8x32_ps(high, at), from_high);
}

static inline void taps(const float *cells, places at, vector *below, vector *above) {
    const vector low = _mm256_loadu_ps(cells), high = _mm256_loadu_ps(cells + WIDTH);
    *below = tap(low, high, at);
    *above = tap(low, high, _mm256_add_epi32(at, _mm256_set1_epi32(1)));
}

#include "bp_cone_circular.h"

const qb__bp_cone_variant qb__bp_cone_circular_avx2 = CIRCULAR_VARIANT("bp_cone_circular.avx2", QB__CPU_AVX2, 2.7);
