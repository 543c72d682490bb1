/* SPDX-License-Identifier: MIT */
#include <immintrin.h>
#include <string.h>

#include "cpu/fft/fft_lanes.h"

#define QB_FFT qb__fft_avx2
#define L 8
#define LANES(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
/* The order that shuffles within 128 bits produce. */
#define ORDER 0, 1, 4, 5, 2, 3, 6, 7

typedef float v __attribute__((vector_size(32)));
typedef struct c {
    v re, im;
} c;

static inline c unzip(const float *x) {
    const __m256 a = _mm256_loadu_ps(x), b = _mm256_loadu_ps(x + L);
    return (c){_mm256_shuffle_ps(a, b, 0x88), _mm256_shuffle_ps(a, b, 0xdd)};
}

static inline void zip(float *x, c a) {
    _mm256_storeu_ps(x, _mm256_unpacklo_ps(a.re, a.im));
    _mm256_storeu_ps(x + L, _mm256_unpackhi_ps(a.re, a.im));
}

static inline v reverse(v a) { return _mm256_permutevar8x32_ps(a, _mm256_set_epi32(0, 1, 2, 3, 4, 5, 6, 7)); }

static inline __attribute__((always_inline)) void transpose(v *a) {
    __m256 x[8];
#define FOUR(I)                                                                                                        \
    {                                                                                                                  \
        const __m256 p = _mm256_unpacklo_ps(a[I], a[I + 1]), q = _mm256_unpackhi_ps(a[I], a[I + 1]);                   \
        const __m256 r = _mm256_unpacklo_ps(a[I + 2], a[I + 3]), s = _mm256_unpackhi_ps(a[I + 2], a[I + 3]);           \
        x[I] = _mm256_shuffle_ps(p, r, 0x44);                                                                          \
        x[I + 1] = _mm256_shuffle_ps(p, r, 0xee);                                                                      \
        x[I + 2] = _mm256_shuffle_ps(q, s, 0x44);                                                                      \
        x[I + 3] = _mm256_shuffle_ps(q, s, 0xee);                                                                      \
    }
    FOUR(0)
    FOUR(4)
#define HALVES(I)                                                                                                      \
    a[I] = _mm256_permute2f128_ps(x[I], x[I + 4], 0x20);                                                               \
    a[I + 4] = _mm256_permute2f128_ps(x[I], x[I + 4], 0x31);
    HALVES(0) HALVES(1) HALVES(2) HALVES(3)
}

#include "cpu/fft/fft_body.h"
