/* SPDX-License-Identifier: MIT */
/* The vectors of bp_cone_matrix.h, and the conversion of coordinates to cells. */
#pragma once

#include <immintrin.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WIDTH 16
typedef __m512 vector;
typedef __m512i integers;
typedef __mmask16 lanes;
#define vector_set1 _mm512_set1_ps
#define vector_add _mm512_add_ps
#define vector_mul _mm512_mul_ps
#define vector_fma _mm512_fmadd_ps
#define integers_set1 _mm512_set1_epi32
#define vector_load _mm512_loadu_ps
#define vector_store _mm512_storeu_ps
#define vector_load_some(from, on) _mm512_maskz_loadu_ps(on, from)
#define vector_store_some(to, on, value) _mm512_mask_storeu_ps(to, on, value)

static inline lanes lanes_between(int begin, int end) {
    unsigned from = begin > 0 ? 0xffffu << begin : 0xffffu;
    unsigned below = end < WIDTH ? 0xffffu >> (WIDTH - end) : 0xffffu;
    return (lanes)(from & below);
}

static inline vector vector_place(int x) {
    const vector lane = _mm512_set_ps(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    return _mm512_add_ps(lane, _mm512_set1_ps((float)x));
}

static inline vector vector_inverse(vector w) {
    vector guess = _mm512_rcp14_ps(w);
    vector rest = _mm512_fnmadd_ps(w, guess, _mm512_set1_ps(1.0f));
    return _mm512_fmadd_ps(guess, rest, guess);
}

/* AMD's gather instructions are microcoded: sixteen loads take two thirds of the time. */
static inline bool cpu_gathers(void) { return !__builtin_cpu_is("amd"); }

#include "bp_cone_matrix.h"

/* Adding it with rounding down leaves the floor plus FLOOR_BITS in the low bits. */
#define FLOOR 0x1.8p23f
#define FLOOR_BITS 0x4b400000
/* The rounding mode is a part of the instruction and must be a constant. */
enum { DOWN = _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC };

typedef struct cell {
    integers index; /* relative to the cell of (u0, v0), plus FLOOR_BITS */
    vector u, v;    /* position within the cell */
} cell;

INLINE cell cell_of(const ray *r, bool far, vector u, vector v) {
    const vector magic = vector_set1(FLOOR), left = _mm512_add_round_ps(u, magic, DOWN);
    const vector top = _mm512_sub_ps(_mm512_add_round_ps(v, magic, DOWN), magic);
    cell c = {.u = _mm512_sub_ps(u, _mm512_sub_ps(left, magic)), .v = _mm512_sub_ps(v, top)};
    if (far)
        c.index =
            _mm512_add_epi32(_mm512_mullo_epi32(_mm512_cvttps_epi32(top), r->stride_cells), _mm512_castps_si512(left));
    else
        c.index = _mm512_castps_si512(vector_fma(top, r->stride, left));
    return c;
}

/* Two neighbouring cells at any address, as one 64-bit number that is only copied. */
INLINE double two_cells(const char *origin, int32_t index) {
    double bits;
    memcpy(&bits, (const char *)((uintptr_t)origin + (uintptr_t)(4 * (intptr_t)index)), sizeof bits);
    return bits;
}

INLINE __m512i eight(const char *origin, const int32_t *index) {
    __m128d q[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) q[i] = _mm_set_pd(two_cells(origin, index[2 * i + 1]), two_cells(origin, index[2 * i]));
    __m256d a = _mm256_insertf128_pd(_mm256_castpd128_pd256(q[0]), q[1], 1);
    __m256d b = _mm256_insertf128_pd(_mm256_castpd128_pd256(q[2]), q[3], 1);
    return _mm512_castpd_si512(_mm512_insertf64x4(_mm512_castpd256_pd512(a), b, 1));
}

/* Base address for the indices of cells. */
INLINE const char *floor_origin(const ray *r) {
    return (const char *)((uintptr_t)r->origin - 4 * (uintptr_t)FLOOR_BITS);
}

/* Fetch the cells at index and index + 1 of the lanes. */
INLINE void fetch(const char *origin, reading how, lanes on, integers index, __m512i *left, __m512i *right) {
    const __m512i even = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
    const __m512i odd = _mm512_set_epi32(31, 29, 27, 25, 23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1);
    const __m256i first = _mm512_castsi512_si256(index), second = _mm512_extracti64x4_epi64(index, 1);
    __m512i low, high;
    if (how.all && !how.gather) {
        _Alignas(64) int32_t at[16];
        _mm512_store_si512(at, index);
        /* Through memory, because compilers would extract the indices from the register one by one. */
        __asm__ volatile("" : "+m"(at));
        low = eight(origin, at);
        high = eight(origin, at + 8);
    } else if (how.all) {
        low = _mm512_i32gather_epi64(first, origin, 4);
        high = _mm512_i32gather_epi64(second, origin, 4);
    } else {
        const __m512i none = _mm512_setzero_si512();
        low = _mm512_mask_i32gather_epi64(none, (__mmask8)on, first, origin, 4);
        high = _mm512_mask_i32gather_epi64(none, (__mmask8)(on >> 8), second, origin, 4);
    }
    *left = _mm512_permutex2var_epi32(low, even, high);
    *right = _mm512_permutex2var_epi32(low, odd, high);
}
