/* SPDX-License-Identifier: MIT */
#include <immintrin.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WIDTH 16
#define MOST_IN_TURN 0
typedef __m512 vector;
typedef __m512i integers;
typedef __mmask16 lanes;
#define vector_set1 _mm512_set1_ps
#define vector_add _mm512_add_ps
#define vector_sub _mm512_sub_ps
#define vector_mul _mm512_mul_ps
#define vector_fma _mm512_fmadd_ps
#define vector_max _mm512_max_ps
#define vector_abs _mm512_abs_ps
#define vector_load _mm512_loadu_ps
#define vector_store _mm512_storeu_ps
#define vector_load_some(from, on) _mm512_maskz_loadu_ps(on, from)
#define vector_store_some(to, on, value) _mm512_mask_storeu_ps(to, on, value)
#define vector_chosen(on, value) _mm512_maskz_mov_ps(on, value)
#define integers_set1 _mm512_set1_epi32
#define integers_of _mm512_cvttps_epi32
#define integers_add _mm512_add_epi32
#define integers_mul _mm512_mullo_epi32
#define integers_store _mm512_store_si512
#define lanes_first(n) ((lanes)(0xffffu >> (WIDTH - (unsigned)(n))))
#define lanes_of(bits) ((lanes)(bits))
#define lanes_bits(on) ((unsigned)(on))
#define lanes_any(on) ((on) != 0)
#define lanes_without(on, same) ((lanes)((on) & ~(same)))

static inline vector vector_place(void) { return _mm512_set_ps(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0); }

static inline vector vector_floor(vector v) {
    return _mm512_roundscale_ps(v, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
}

static inline lanes lanes_inside(lanes on, vector v, float limit) {
    on = _mm512_mask_cmp_ps_mask(on, v, _mm512_set1_ps(-1), _CMP_GT_OQ);
    return _mm512_mask_cmp_ps_mask(on, v, _mm512_set1_ps(limit), _CMP_LT_OQ);
}

static inline lanes lanes_equal(lanes on, vector v, float value) {
    return _mm512_mask_cmp_ps_mask(on, v, _mm512_set1_ps(value), _CMP_EQ_OQ);
}

static inline vector window(const float *p, integers i) {
    return _mm512_permutex2var_ps(_mm512_loadu_ps(p), i, _mm512_loadu_ps(p + WIDTH));
}

static inline void window_two(const float *p, integers i, vector *a, vector *b) {
    const vector low = _mm512_loadu_ps(p), high = _mm512_loadu_ps(p + WIDTH);
    *a = _mm512_permutex2var_ps(low, i, high);
    *b = _mm512_permutex2var_ps(low, _mm512_add_epi32(i, _mm512_set1_epi32(1)), high);
}

static inline void gather_apart(const float *p, size_t apart, integers i, lanes on, vector *a, vector *b) {
    const vector none = _mm512_setzero_ps();
    *a = _mm512_mask_i32gather_ps(none, on, i, p, 4);
    *b = _mm512_mask_i32gather_ps(none, on, i, p + apart, 4);
}

#define gather_two(p, i, on, a, b) gather_apart(p, 1, i, on, a, b)

#include "cpu/features.h"
#include "project_joseph_body.h"

const qb__joseph_variant qb__project_joseph_avx512 = JOSEPH_VARIANT("project_joseph.avx512", QB__CPU_AVX512, 2.0);
