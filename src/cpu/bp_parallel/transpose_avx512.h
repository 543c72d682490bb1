/* SPDX-License-Identifier: MIT */
#pragma once

#include <immintrin.h>

/* Transpose 16x16 floats in place: 4x4 squares within 128-bit lanes, then the lanes. */
static inline void qb__transpose_16x16(float square[16][16]) {
    __m512 r[16], t[16];
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++) r[i] = _mm512_load_ps(square[i]);
#pragma GCC unroll 8
    for (int i = 0; i < 16; i += 2) {
        t[i] = _mm512_unpacklo_ps(r[i], r[i + 1]);
        t[i + 1] = _mm512_unpackhi_ps(r[i], r[i + 1]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 16; i += 4) {
        __m512d a = _mm512_castps_pd(t[i]), b = _mm512_castps_pd(t[i + 1]);
        __m512d c = _mm512_castps_pd(t[i + 2]), d = _mm512_castps_pd(t[i + 3]);
        r[i] = _mm512_castpd_ps(_mm512_unpacklo_pd(a, c));
        r[i + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(a, c));
        r[i + 2] = _mm512_castpd_ps(_mm512_unpacklo_pd(b, d));
        r[i + 3] = _mm512_castpd_ps(_mm512_unpackhi_pd(b, d));
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        __m512 even_top = _mm512_shuffle_f32x4(r[i], r[i + 4], 0x88);
        __m512 odd_top = _mm512_shuffle_f32x4(r[i], r[i + 4], 0xdd);
        __m512 even_low = _mm512_shuffle_f32x4(r[i + 8], r[i + 12], 0x88);
        __m512 odd_low = _mm512_shuffle_f32x4(r[i + 8], r[i + 12], 0xdd);
        _mm512_store_ps(square[i], _mm512_shuffle_f32x4(even_top, even_low, 0x88));
        _mm512_store_ps(square[i + 4], _mm512_shuffle_f32x4(odd_top, odd_low, 0x88));
        _mm512_store_ps(square[i + 8], _mm512_shuffle_f32x4(even_top, even_low, 0xdd));
        _mm512_store_ps(square[i + 12], _mm512_shuffle_f32x4(odd_top, odd_low, 0xdd));
    }
}
