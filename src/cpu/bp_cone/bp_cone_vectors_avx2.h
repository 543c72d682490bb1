/* SPDX-License-Identifier: MIT */
/* The vectors of bp_cone_matrix.h, and the conversion of coordinates to cells. */
#pragma once

#include <immintrin.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WIDTH 8
typedef __m256 vector;
typedef __m256i integers;
typedef __m256i lanes; /* all bits of an active lane are set */
#define vector_set1 _mm256_set1_ps
#define vector_add _mm256_add_ps
#define vector_mul _mm256_mul_ps
#define vector_fma _mm256_fmadd_ps
#define integers_set1 _mm256_set1_epi32
#define vector_load _mm256_loadu_ps
#define vector_store _mm256_storeu_ps
#define vector_load_some(from, on) _mm256_maskload_ps(from, on)
#define vector_store_some(to, on, value) _mm256_maskstore_ps(to, on, value)

static inline lanes lanes_between(int begin, int end) {
    const __m256i lane = _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0);
    return _mm256_and_si256(_mm256_cmpgt_epi32(lane, _mm256_set1_epi32(begin - 1)),
                            _mm256_cmpgt_epi32(_mm256_set1_epi32(end), lane));
}

static inline vector vector_place(int x) {
    return _mm256_add_ps(_mm256_set_ps(7, 6, 5, 4, 3, 2, 1, 0), _mm256_set1_ps((float)x));
}

static inline vector vector_inverse(vector w) { return _mm256_div_ps(_mm256_set1_ps(1.0f), w); }

/* AMD's gather instructions are microcoded: single loads are faster. */
static inline bool cpu_gathers(void) { return !__builtin_cpu_is("amd"); }

#include "bp_cone_matrix.h"

typedef struct cell {
    integers index; /* relative to the cell of (u0, v0) */
    vector u, v;    /* position within the cell */
} cell;

INLINE cell cell_of(const ray *r, bool far, vector u, vector v) {
    (void)far; /* integers have enough bits */
    const vector left = _mm256_floor_ps(u), top = _mm256_floor_ps(v);
    cell c = {.u = _mm256_sub_ps(u, left), .v = _mm256_sub_ps(v, top)};
    c.index =
        _mm256_add_epi32(_mm256_mullo_epi32(_mm256_cvttps_epi32(top), r->stride_cells), _mm256_cvttps_epi32(left));
    return c;
}

/* Two neighbouring cells at any address, as one 64-bit number that is only copied. */
INLINE double two_cells(const char *origin, int32_t index) {
    double bits;
    memcpy(&bits, origin + 4 * (int64_t)index, sizeof bits);
    return bits;
}

INLINE __m256 four(const ray *r, reading how, __m128i on, __m128i index) {
    if (!how.all || how.gather)
        return _mm256_castsi256_ps(_mm256_mask_i32gather_epi64(_mm256_setzero_si256(), (const long long *)r->origin,
                                                               index, _mm256_cvtepi32_epi64(on), 4));
    _Alignas(16) int32_t at[4];
    _mm_store_si128((__m128i *)at, index);
    /* Through memory, because compilers would extract the indices from the register one by one. */
    __asm__ volatile("" : "+m"(at));
    __m128d a = _mm_set_pd(two_cells(r->origin, at[1]), two_cells(r->origin, at[0]));
    __m128d b = _mm_set_pd(two_cells(r->origin, at[3]), two_cells(r->origin, at[2]));
    return _mm256_castpd_ps(_mm256_insertf128_pd(_mm256_castpd128_pd256(a), b, 1));
}

/* Fetch the cells at index and index + 1 of the lanes. */
INLINE void fetch(const ray *r, reading how, lanes on, integers index, __m256i *left, __m256i *right) {
    __m256 a = four(r, how, _mm256_castsi256_si128(on), _mm256_castsi256_si128(index));
    __m256 b = four(r, how, _mm256_extracti128_si256(on, 1), _mm256_extracti128_si256(index, 1));
    /* Order after operations within 128-bit halves: 0 1 4 5 2 3 6 7. */
    __m256i even = _mm256_castps_si256(_mm256_shuffle_ps(a, b, 0x88));
    __m256i odd = _mm256_castps_si256(_mm256_shuffle_ps(a, b, 0xdd));
    *left = _mm256_permute4x64_epi64(even, 0xd8);
    *right = _mm256_permute4x64_epi64(odd, 0xd8);
}
