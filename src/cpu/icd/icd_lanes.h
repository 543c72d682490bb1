/* SPDX-License-Identifier: MIT */
/* Sixteen floats, or LANES_COUNT if that is defined, in the compiler's vector types: the same expressions, and so the
 * same bits, for every register width. */
#pragma once

#include <math.h>
#include <stdint.h>
#include <string.h>
#if defined(__SSE__)
#include <immintrin.h>
#endif

/* Nothing here is called across files, so no interface depends on the register width. */
#pragma GCC diagnostic ignored "-Wpsabi"

#ifndef LANES_COUNT
#define LANES_COUNT 16
#endif

typedef float lanes __attribute__((vector_size(4 * LANES_COUNT)));
typedef float lanes_anywhere __attribute__((vector_size(4 * LANES_COUNT), aligned(4)));
typedef int32_t bits __attribute__((vector_size(4 * LANES_COUNT)));

typedef float quad __attribute__((vector_size(16)));
typedef float quad_anywhere __attribute__((vector_size(16), aligned(4)));

#define LANES_INLINE static inline __attribute__((always_inline))

LANES_INLINE lanes lanes_all(float v) { return v - (lanes){0}; }

LANES_INLINE lanes lanes_at(const float *p) { return *(const lanes *)(const void *)p; }

LANES_INLINE lanes lanes_from(const float *p) { return *(const lanes_anywhere *)(const void *)p; }

LANES_INLINE void lanes_put(float *p, lanes v) { *(lanes *)(void *)p = v; }

LANES_INLINE void lanes_put_anywhere(float *p, lanes v) { *(lanes_anywhere *)(void *)p = v; }

LANES_INLINE bits bits_from(const int32_t *p) { return (bits)lanes_from((const float *)(const void *)p); }

LANES_INLINE void bits_put(int32_t *p, bits v) { lanes_put_anywhere((float *)(void *)p, (lanes)v); }

/* Comparisons of whole numbers that differ by less than 2^31. gcc compares one after another unless one register holds
 * all. */
#if defined(__AVX512F__)
LANES_INLINE bits bits_same(bits a, bits b) { return a == b; }
#else
LANES_INLINE bits bits_same(bits a, bits b) { return ~(((a - b) | (b - a)) >> 31); }
#endif

LANES_INLINE bits bits_less(bits a, bits b) { return (a - b) >> 31; }

LANES_INLINE lanes lanes_pick(bits chosen, lanes yes, lanes no) {
    return (lanes)((chosen & (bits)yes) | (~chosen & (bits)no));
}

LANES_INLINE lanes lanes_size(lanes v) { return (lanes)((bits)v & 0x7fffffff); }

/* Comparisons: a < b, the maximum, the minimum. If a number is NaN, the last two give b. gcc divides a sum of sixteen
 * floats among registers by itself, but compares one float after another unless one register holds all. */
#if defined(__AVX512F__)
LANES_INLINE bits lanes_below(lanes a, lanes b) { return a < b; }

LANES_INLINE lanes lanes_largest(lanes a, lanes b) { return (lanes)_mm512_max_ps((__m512)a, (__m512)b); }

LANES_INLINE lanes lanes_least(lanes a, lanes b) { return (lanes)_mm512_min_ps((__m512)a, (__m512)b); }
#elif defined(__SSE2__)
#if defined(__AVX__)
#define LANES_REGISTERS(call_256, call_128)                                                                            \
    for (int i = 0; i < LANES_COUNT; i += 8)                                                                           \
    _mm256_storeu_ps((float *)&all + i,                                                                                \
                     call_256(_mm256_loadu_ps((const float *)&a + i), _mm256_loadu_ps((const float *)&b + i)))
#define CMPLT_256(x, y) _mm256_cmp_ps(x, y, _CMP_LT_OS)
#else
#define LANES_REGISTERS(call_256, call_128)                                                                            \
    for (int i = 0; i < LANES_COUNT; i += 4)                                                                           \
    _mm_storeu_ps((float *)&all + i, call_128(_mm_loadu_ps((const float *)&a + i), _mm_loadu_ps((const float *)&b + i)))
#endif
LANES_INLINE bits lanes_below(lanes a, lanes b) {
    bits all;
    LANES_REGISTERS(CMPLT_256, _mm_cmplt_ps);
    return all;
}

LANES_INLINE lanes lanes_largest(lanes a, lanes b) {
    lanes all;
    LANES_REGISTERS(_mm256_max_ps, _mm_max_ps);
    return all;
}

LANES_INLINE lanes lanes_least(lanes a, lanes b) {
    lanes all;
    LANES_REGISTERS(_mm256_min_ps, _mm_min_ps);
    return all;
}
#else
LANES_INLINE bits lanes_below(lanes a, lanes b) { return a < b; }

LANES_INLINE lanes lanes_largest(lanes a, lanes b) { return lanes_pick(b < a, a, b); }

LANES_INLINE lanes lanes_least(lanes a, lanes b) { return lanes_pick(a < b, a, b); }
#endif

/* v limited to >= 0: the maximum of v and 0. */
#if defined(__AVX512F__)
LANES_INLINE lanes lanes_above_zero(lanes v) { return (lanes)_mm512_max_ps((__m512)v, _mm512_setzero_ps()); }
#else
LANES_INLINE lanes lanes_above_zero(lanes v) { /* two integer operations */
    return (lanes)(~((bits)v >> 31) & (bits)v);
}
#endif

/* The square root, rounded the same in every variant. */
#if defined(__AVX512F__)
LANES_INLINE lanes lanes_root(lanes v) { return (lanes)_mm512_sqrt_ps((__m512)v); }
#elif defined(__SSE__)
LANES_INLINE lanes lanes_root(lanes v) {
    lanes root;
    for (int i = 0; i < LANES_COUNT; i += 4)
        _mm_storeu_ps((float *)&root + i, _mm_sqrt_ps(_mm_loadu_ps((const float *)&v + i)));
    return root;
}
#else
LANES_INLINE lanes lanes_root(lanes v) {
    for (int i = 0; i < LANES_COUNT; i++) v[i] = sqrtf(v[i]);
    return v;
}
#endif

/* Arctangent for arguments up to 1: error 2e-8 plus rounding (Abramowitz and Stegun, 4.4.49). */
LANES_INLINE lanes lanes_atan(lanes v) {
    const lanes v2 = v * v;
    const lanes far =
        0.1065626393f + v2 * (-0.0752896400f + v2 * (0.0429096138f + v2 * (-0.0161657367f + v2 * 0.0028662257f)));
    return v * (1.0f + v2 * (-0.3333314528f + v2 * (0.1999355085f + v2 * (-0.1420889944f + v2 * far))));
}

#if LANES_COUNT == 16
LANES_INLINE float lanes_sum(lanes v) {
    float sum[4];
    for (int i = 0; i < 4; i++) sum[i] = (v[i] + v[i + 4]) + (v[i + 8] + v[i + 12]);
    return (sum[0] + sum[2]) + (sum[1] + sum[3]);
}
#endif

LANES_INLINE quad quad_at(const float *p) { return *(const quad_anywhere *)(const void *)p; }

LANES_INLINE void quad_put(float *p, quad v) { *(quad_anywhere *)(void *)p = v; }

#if defined(__AVX512F__)
LANES_INLINE int lanes_any(bits v) { return _mm512_test_epi32_mask((__m512i)v, (__m512i)v) != 0; }
#else
LANES_INLINE int lanes_any(bits v) {
    int64_t any[LANES_COUNT / 2], all = 0;
    memcpy(any, &v, sizeof any);
    for (int i = 0; i < LANES_COUNT / 2; i++) all |= any[i];
    return all != 0;
}
#endif

/* Logarithm to base 2 for normal numbers above zero: absolute error 2e-7 plus rounding of the result. It is the
 * exponent, plus the series of 2 artanh(s), s = (m - 1) / (m + 1), for a mantissa near one. */
LANES_INLINE lanes lanes_log2(lanes v) {
    const bits shifted = (bits)v - 0x3f3504f3; /* sqrt(1/2) */
    const bits exponent = shifted >> 23;
    const lanes m = (lanes)((shifted & 0x7fffff) + 0x3f3504f3);
    const lanes s = (m - 1.0f) / (m + 1.0f), s2 = s * s;
    const lanes series =
        2.8853900818f + s2 * (0.9617966939f + s2 * (0.5770780164f + s2 * (0.4121985832f + s2 * 0.3205988980f)));
    return __builtin_convertvector(exponent, lanes) + s * series;
}

/* Power of two for -120 to 120: an integer power, times the exponential series of a remainder of at most one half. */
LANES_INLINE lanes lanes_exp2(lanes v) {
    const float round = 12582912.0f;
    v = lanes_least(lanes_all(120.0f), lanes_largest(lanes_all(-120.0f), v));
    const lanes whole = (v + round) - round;
    const lanes f = v - whole;
    const lanes series =
        1.0f +
        f * (0.6931471806f +
             f * (0.2402265070f + f * (0.0555041087f + f * (0.0096181291f + f * (0.0013333558f + f * 0.0001540353f)))));
    return (lanes)((bits)series + (__builtin_convertvector(whole, bits) << 23));
}
