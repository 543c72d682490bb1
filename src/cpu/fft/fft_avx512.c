/* SPDX-License-Identifier: MIT */
#include <immintrin.h>
#include <string.h>

#include "cpu/fft/fft_lanes.h"

#define QB_FFT qb__fft_avx512
#define L 16
#define LANES(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)
/* The order that shuffles within 128 bits produce. */
#define ORDER 0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15

typedef float v __attribute__((vector_size(64)));
typedef struct c {
    v re, im;
} c;

static inline c unzip(const float *x) {
    const __m512 a = _mm512_loadu_ps(x), b = _mm512_loadu_ps(x + L);
    return (c){_mm512_shuffle_ps(a, b, 0x88), _mm512_shuffle_ps(a, b, 0xdd)};
}

static inline void zip(float *x, c a) {
    _mm512_storeu_ps(x, _mm512_unpacklo_ps(a.re, a.im));
    _mm512_storeu_ps(x + L, _mm512_unpackhi_ps(a.re, a.im));
}

static inline v reverse(v a) {
    return _mm512_permutexvar_ps(_mm512_set_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15), a);
}

static inline __attribute__((always_inline)) void transpose(v *a) {
    __m512 x[16];
#define FOUR(I)                                                                                                        \
    {                                                                                                                  \
        const __m512 p = _mm512_unpacklo_ps(a[I], a[I + 1]), q = _mm512_unpackhi_ps(a[I], a[I + 1]);                   \
        const __m512 r = _mm512_unpacklo_ps(a[I + 2], a[I + 3]), s = _mm512_unpackhi_ps(a[I + 2], a[I + 3]);           \
        x[I] = _mm512_shuffle_ps(p, r, 0x44);                                                                          \
        x[I + 1] = _mm512_shuffle_ps(p, r, 0xee);                                                                      \
        x[I + 2] = _mm512_shuffle_ps(q, s, 0x44);                                                                      \
        x[I + 3] = _mm512_shuffle_ps(q, s, 0xee);                                                                      \
    }
    FOUR(0)
    FOUR(4)
    FOUR(8)
    FOUR(12)
    /* Transposes the 128-bit parts of x[I], x[I + 4], x[I + 8], x[I + 12]. */
#define QUARTERS(I)                                                                                                    \
    {                                                                                                                  \
        const __m512 p = _mm512_shuffle_f32x4(x[I], x[I + 4], 0x88), q = _mm512_shuffle_f32x4(x[I], x[I + 4], 0xdd);   \
        const __m512 r = _mm512_shuffle_f32x4(x[I + 8], x[I + 12], 0x88);                                              \
        const __m512 s = _mm512_shuffle_f32x4(x[I + 8], x[I + 12], 0xdd);                                              \
        a[I] = _mm512_shuffle_f32x4(p, r, 0x88);                                                                       \
        a[I + 4] = _mm512_shuffle_f32x4(q, s, 0x88);                                                                   \
        a[I + 8] = _mm512_shuffle_f32x4(p, r, 0xdd);                                                                   \
        a[I + 12] = _mm512_shuffle_f32x4(q, s, 0xdd);                                                                  \
    }
    QUARTERS(0) QUARTERS(1) QUARTERS(2) QUARTERS(3)
}

#include "cpu/fft/fft_body.h"
