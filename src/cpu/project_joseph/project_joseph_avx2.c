/* SPDX-License-Identifier: MIT */
#include <immintrin.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WIDTH 8
#define MOST_IN_TURN 4
typedef __m256 vector;
typedef __m256i integers;
typedef __m256i lanes; /* all bits of an active lane are set */
#define vector_set1 _mm256_set1_ps
#define vector_add _mm256_add_ps
#define vector_sub _mm256_sub_ps
#define vector_mul _mm256_mul_ps
#define vector_fma _mm256_fmadd_ps
#define vector_max _mm256_max_ps
#define vector_floor _mm256_floor_ps
#define vector_load _mm256_loadu_ps
#define vector_store _mm256_storeu_ps
#define vector_load_some(from, on) _mm256_maskload_ps(from, on)
#define vector_chosen(on, value) _mm256_and_ps(_mm256_castsi256_ps(on), value)
#define integers_set1 _mm256_set1_epi32
#define integers_of _mm256_cvttps_epi32
#define integers_add _mm256_add_epi32
#define integers_mul _mm256_mullo_epi32
#define integers_store(to, value) _mm256_store_si256((__m256i *)(to), value)
#define lanes_bits(on) ((unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(on)))
#define lanes_any(on) (lanes_bits(on) != 0)
#define lanes_without(on, same) _mm256_andnot_si256(same, on)

static inline __m256i count_up(void) { return _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0); }

static inline vector vector_place(void) { return _mm256_cvtepi32_ps(count_up()); }

static inline vector vector_abs(vector v) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), v); }

static inline lanes lanes_first(size_t n) { return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), count_up()); }

static inline lanes lanes_of(unsigned bits) {
    const __m256i one = _mm256_set_epi32(128, 64, 32, 16, 8, 4, 2, 1);
    return _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32((int)bits), one), one);
}

static inline lanes lanes_inside(lanes on, vector v, float limit) {
    const vector above = _mm256_cmp_ps(v, _mm256_set1_ps(-1), _CMP_GT_OQ);
    const vector below = _mm256_cmp_ps(v, _mm256_set1_ps(limit), _CMP_LT_OQ);
    return _mm256_and_si256(on, _mm256_castps_si256(_mm256_and_ps(above, below)));
}

/* On AMD a masked store takes as long as a dozen others. */
static inline void vector_store_some(float *to, lanes on, vector value) {
    if (lanes_bits(on) == 0xff)
        vector_store(to, value);
    else
        _mm256_maskstore_ps(to, on, value);
}

/* Bit 3 of an index, moved to the sign bit, selects the upper half of the window. */
static inline vector pick(vector low, vector high, integers i) {
    const vector upper = _mm256_castsi256_ps(_mm256_slli_epi32(i, 28));
    return _mm256_blendv_ps(_mm256_permutevar8x32_ps(low, i), _mm256_permutevar8x32_ps(high, i), upper);
}

static inline lanes lanes_equal(lanes on, vector v, float value) {
    const vector same = _mm256_cmp_ps(v, _mm256_set1_ps(value), _CMP_EQ_OQ);
    return _mm256_and_si256(on, _mm256_castps_si256(same));
}

static inline vector window(const float *p, integers i) {
    return pick(_mm256_loadu_ps(p), _mm256_loadu_ps(p + WIDTH), i);
}

static inline void window_two(const float *p, integers i, vector *a, vector *b) {
    const vector low = _mm256_loadu_ps(p), high = _mm256_loadu_ps(p + WIDTH);
    *a = pick(low, high, i);
    *b = pick(low, high, _mm256_add_epi32(i, _mm256_set1_epi32(1)));
}

static inline void gather_apart(const float *p, size_t apart, integers i, lanes on, vector *a, vector *b) {
    const vector none = _mm256_setzero_ps(), mask = _mm256_castsi256_ps(on);
    *a = _mm256_mask_i32gather_ps(none, p, i, mask, 4);
    *b = _mm256_mask_i32gather_ps(none, p + apart, i, mask, 4);
}

#define gather_two(p, i, on, a, b) gather_apart(p, 1, i, on, a, b)

#include "cpu/features.h"
#include "project_joseph_body.h"

const qb__joseph_variant qb__project_joseph_avx2 = JOSEPH_VARIANT("project_joseph.avx2", QB__CPU_AVX2, 1.0);
