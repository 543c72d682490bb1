/* SPDX-License-Identifier: MIT */
/* Packing for the layout of bp_cone_pairs.h, 16 pixels at a time. */
#include "bp_cone_vectors_avx512.h"

static void pairs_fill(uint32_t *cells, const float *upper, const float *lower, size_t columns, float scale) {
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
