/* SPDX-License-Identifier: MIT */
/* Many slices in half precision, data and arithmetic, with 32 lanes per vector. The views of a block are summed in half
 * precision, the blocks in single precision. Each slice is scaled by a power of two, from the largest value that the
 * caller states for it, so that a block's sum stays below the largest half float. */
#include "bp_parallel_rows.h"
#include "cpu/features.h"
#include "transpose_avx512.h"

#define WIDTH 16
#define HALVES 32
#define COLUMN_VECTORS(lanes) ((lanes) / HALVES)
#define PACKED_BYTES(lanes) ((lanes)*2u)
#define transpose qb__transpose_16x16
/* Sums of 128 lanes take twice the memory: a smaller tile stays in L2. */
#define TILE_PIXELS 32
/* Views are added in pairs: the bits would depend on which views a pixel's neighbours see, if one of a pair were left
 * out. */
#define SKIPPED_VIEWS 2
#include "bp_parallel_lanes.h"

enum { MOST_VECTORS = 4 };
_Static_assert(MOST_VECTORS *HALVES <= QB__BP_PARALLEL_MOST_LANES, "callers size arrays by it");

static const unsigned char step_order[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

/* Two equal halves fill the 32 bits of a weight, which a load can broadcast without a shuffle. */
INLINE __m512i twice_half(__m512 weight) {
    __m512i half = _mm512_cvtepu16_epi32(_mm512_cvtps_ph(weight, _MM_FROUND_TO_NEAREST_INT));
    return _mm512_or_si512(half, _mm512_slli_epi32(half, 16));
}

INLINE void cells_fill(cells *out, const start *s, int64_t q, int32_t columns, uint32_t column_bytes, uint32_t bias,
                       bool linear) {
    (void)linear;
    const __m512i upper = _mm512_set_epi32(31, 29, 27, 25, 23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1);
    const __m512i lower = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
    __m512i first = _mm512_set1_epi64(q);
    __m512i low = _mm512_add_epi64(first, _mm512_load_si512(s->step));
    __m512i high = _mm512_add_epi64(first, _mm512_load_si512(s->step + 8));
    __m512i column = _mm512_permutex2var_epi32(low, upper, high);
    column = _mm512_max_epi32(column, _mm512_set1_epi32(-GUARD));
    column = _mm512_min_epi32(column, _mm512_set1_epi32(columns));
    __m512i offset = _mm512_mullo_epi32(column, _mm512_set1_epi32((int)column_bytes));
    offset = _mm512_add_epi32(offset, _mm512_set1_epi32((int)bias));
    _mm512_storeu_si512(out->offset, offset);
    __m512i fraction = _mm512_permutex2var_epi32(low, lower, high);
    __m512 weight = _mm512_mul_ps(_mm512_cvtepu32_ps(fraction), _mm512_set1_ps(0x1p-32f));
    _mm512_storeu_si512(out->weight, twice_half(weight));
}

INLINE void flush(float *sums, __m512h block) {
    __m512i bits = _mm512_castph_si512(block);
    __m512 low = _mm512_cvtph_ps(_mm512_castsi512_si256(bits));
    __m512 high = _mm512_cvtph_ps(_mm512_extracti64x4_epi64(bits, 1));
    _mm512_storeu_ps(sums, _mm512_add_ps(_mm512_loadu_ps(sums), low));
    _mm512_storeu_ps(sums + WIDTH, _mm512_add_ps(_mm512_loadu_ps(sums + WIDTH), high));
}

/* before * column + after * next, added to `sum` if there is one. */
INLINE __m512h interpolate(const char *column, unsigned column_bytes, __m512h after, bool first, __m512h sum) {
    const __m512h one = _mm512_castsi512_ph(_mm512_set1_epi16(0x3c00));
    __m512h before = _mm512_sub_ph(one, after), here = _mm512_loadu_ph(column);
    sum = first ? _mm512_mul_ph(before, here) : _mm512_fmadd_ph(before, here, sum);
    return _mm512_fmadd_ph(after, _mm512_loadu_ph(column + column_bytes), sum);
}

INLINE __m512h weight_of(const cells *view, unsigned pixel) {
    return _mm512_castps_ph(_mm512_set1_ps(view->weight[pixel]));
}

/* Views are added in pairs: summing a pair first costs one addition, but two of four roundings then have the size of a
 * pair and not of the whole sum. */
INLINE void block_add(const char *base, const cells *table, unsigned views, unsigned block, float *sums,
                      unsigned vectors, bool linear) {
    (void)linear;
    const unsigned bytes = vectors * sizeof(__m512h), first = block * 4;
    __m512h sum[4][MOST_VECTORS];
#pragma GCC unroll 4
    for (unsigned p = 0; p < 4; p++)
#pragma GCC unroll 4
        for (unsigned i = 0; i < vectors; i++) sum[p][i] = _mm512_setzero_ph();
    unsigned v = 0;
    for (; v + 1 < views; v += 2) {
#pragma GCC unroll 4
        for (unsigned p = 0; p < 4; p++) {
            const char *at = base + table[v].offset[first + p];
            const char *then = base + table[v + 1].offset[first + p];
            __m512h after = weight_of(table + v, first + p);
            __m512h later = weight_of(table + v + 1, first + p);
#pragma GCC unroll 4
            for (unsigned i = 0; i < vectors; i++) {
                __m512h pair = interpolate(at + i * 64, bytes, after, true, after);
                pair = interpolate(then + i * 64, bytes, later, false, pair);
                sum[p][i] = _mm512_add_ph(sum[p][i], pair);
            }
        }
    }
    if (v < views) {
#pragma GCC unroll 4
        for (unsigned p = 0; p < 4; p++) {
            const char *at = base + table[v].offset[first + p];
            __m512h after = weight_of(table + v, first + p);
#pragma GCC unroll 4
            for (unsigned i = 0; i < vectors; i++)
                sum[p][i] = _mm512_add_ph(sum[p][i], interpolate(at + i * 64, bytes, after, true, after));
        }
    }
#pragma GCC unroll 4
    for (unsigned p = 0; p < 4; p++)
#pragma GCC unroll 4
        for (unsigned i = 0; i < vectors; i++) flush(sums + (p * vectors + i) * HALVES, sum[p][i]);
}

/* The power of two that brings a slice's largest value below 4096, so that the sum of eight stays below 65504. */
static float scale_of(const qb__bp_parallel_problem *problem, unsigned slice) {
    int exponent;
    float largest = problem->largest[slice];
    if (!(largest > 0x1p-100f)) return 1.0f;
    (void)frexpf(largest, &exponent);
    return ldexpf(1.0f, 12 - exponent);
}
_Static_assert(BLOCK_VIEWS <= 8, "the scale leaves room for eight views");

static void half_pack(const qb__bp_parallel_problem *problem, size_t view, unsigned lanes, unsigned slices,
                      const float *rows, size_t row_stride, void *block) {
    (void)view;
    const size_t columns = problem->columns, bytes = PACKED_BYTES(lanes);
    char *to = block;
    memset(to, 0, GUARD * bytes);
    to += GUARD * bytes;
    memset(to + columns * bytes, 0, GUARD * bytes);
    for (unsigned lane = 0; lane < lanes; lane += WIDTH) {
        _Alignas(64) float scale[WIDTH];
        for (unsigned i = 0; i < WIDTH; i++) scale[i] = lane + i < slices ? scale_of(problem, lane + i) : 0.0f;
        for (size_t c = 0; c < columns; c += WIDTH) {
            unsigned n = columns - c < WIDTH ? (unsigned)(columns - c) : WIDTH;
            __mmask16 wanted = (__mmask16)((1u << n) - 1);
            _Alignas(64) float square[WIDTH][WIDTH];
            for (unsigned i = 0; i < WIDTH; i++)
                _mm512_store_ps(square[i], lane + i < slices
                                               ? _mm512_maskz_loadu_ps(wanted, rows + (lane + i) * row_stride + c)
                                               : _mm512_setzero_ps());
            transpose(square);
            for (unsigned i = 0; i < n; i++) {
                __m512 scaled = _mm512_mul_ps(_mm512_load_ps(square[i]), _mm512_load_ps(scale));
                _mm256_storeu_si256((__m256i *)(to + (c + i) * bytes + lane * 2),
                                    _mm512_cvtps_ph(scaled, _MM_FROUND_TO_NEAREST_INT));
            }
        }
    }
}

static void half_run(const qb__bp_parallel_problem *problem, const void *packed, unsigned lanes, unsigned slices,
                     size_t x0, size_t x1, size_t y0, size_t y1, float *out, size_t stride_z, size_t stride_y,
                     void *scratch_memory) {
    unsigned width = (unsigned)(x1 - x0), height = (unsigned)(y1 - y0);
    scratch *s = scratch_memory;
    switch (lanes / HALVES) {
    case 1: add_tile(problem, packed, 1 * HALVES, x0, y0, width, height, s, true); break;
    case 2: add_tile(problem, packed, 2 * HALVES, x0, y0, width, height, s, true); break;
    case 3: add_tile(problem, packed, 3 * HALVES, x0, y0, width, height, s, true); break;
    default: add_tile(problem, packed, 4 * HALVES, x0, y0, width, height, s, true); break;
    }
    float unscale[MOST_VECTORS * HALVES];
    for (unsigned i = 0; i < slices; i++) unscale[i] = 1.0f / scale_of(problem, i);
    write_tile(s->sums, lanes, slices, width, height, out + y0 * stride_y + x0, stride_z, stride_y, unscale);
}

static const char *half_unusable(const struct qb__device_info *device, const void *of, const int *values) {
    const qb__bp_parallel_problem *problem = of;
    if (!problem->largest) return "needs a bound on the filtered rows' values, which is not known";
    return lanes_unusable(device, of, values);
}

const qb__bp_parallel_variant qb__bp_parallel_linear_avx512fp16 = {
    .head = {.id = "bp_parallel_linear.avx512fp16",
             .operation = QB__BP_PARALLEL,
             .interp = QB_INTERP_LINEAR,
             .features = QB__CPU_AVX512 | QB__CPU_AVX512FP16,
             .accuracy = QB_ACCURACY_NORMAL,
             .speed = 50.0,
             .step = HALVES,
             .most = MOST_VECTORS * HALVES,
             .unusable = half_unusable},
    .view_bytes = lanes_view_bytes,
    .pack = half_pack,
    .tile = TILE,
    .scratch_bytes = lanes_scratch_bytes,
    .run = half_run};
