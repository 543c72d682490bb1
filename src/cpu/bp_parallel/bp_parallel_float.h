/* SPDX-License-Identifier: MIT */
/* Many slices in single precision: shared by AVX2 and AVX-512, in addition to bp_parallel_lanes.h. The including file
 * supplies
 *   WIDTH, vector, vector_load(), vector_store(), vector_set1(), vector_add(), vector_sub(),
 *   vector_fma()       the arithmetic
 *   vector_stream(), stream_fence()   stores of whole cache lines without reading them first
 *   PIXELS             pixels of a 2x2 block whose sums fit into registers together */
#define COLUMN_VECTORS(lanes) ((lanes) / WIDTH)
#define PACKED_BYTES(lanes) ((lanes) * (unsigned)sizeof(float))
/* Each sum waits for the one before it: with a single vector of lanes, the sums of four pixels are too few to fill the
 * time. */
#define BLOCKS_TOGETHER(lanes) (COLUMN_VECTORS(lanes) == 1 ? 2 : 1)
#include "bp_parallel_lanes.h"

/* Otherwise compilers subtract the scalar and shuffle both weights into vectors, on the port that multiplies; a
 * broadcasting load needs no shuffle. */
#define IN_A_VECTOR(x) __asm__("" : "+v"(x))

enum { MOST_VECTORS = 4, MOST_PIXELS = 8 };

INLINE void add_pixels(const char *base, const cells *table, unsigned views, unsigned first, float *sums,
                       unsigned pixels, unsigned vectors, bool linear) {
    const unsigned column_bytes = vectors * sizeof(vector);
    vector sum[MOST_PIXELS][MOST_VECTORS];
#pragma GCC unroll 8
    for (unsigned p = 0; p < pixels; p++)
#pragma GCC unroll 4
        for (unsigned i = 0; i < vectors; i++) sum[p][i] = vector_load(sums + (p * vectors + i) * WIDTH);
    for (unsigned v = 0; v < views; v++) {
#pragma GCC unroll 8
        for (unsigned p = 0; p < pixels; p++) {
            const char *at = base + table[v].offset[first + p];
            if (linear) {
                vector after = vector_set1(table[v].weight[first + p]);
                IN_A_VECTOR(after);
                vector before = vector_sub(vector_set1(1.0f), after);
#pragma GCC unroll 4
                for (unsigned i = 0; i < vectors; i++) {
                    const float *column = (const float *)at + i * WIDTH;
                    const float *next = (const float *)(at + column_bytes) + i * WIDTH;
                    sum[p][i] = vector_fma(before, vector_load(column), sum[p][i]);
                    sum[p][i] = vector_fma(after, vector_load(next), sum[p][i]);
                }
            } else {
#pragma GCC unroll 4
                for (unsigned i = 0; i < vectors; i++)
                    sum[p][i] = vector_add(sum[p][i], vector_load((const float *)at + i * WIDTH));
            }
        }
    }
#pragma GCC unroll 8
    for (unsigned p = 0; p < pixels; p++)
#pragma GCC unroll 4
        for (unsigned i = 0; i < vectors; i++) vector_store(sums + (p * vectors + i) * WIDTH, sum[p][i]);
}

INLINE void block_add(const char *base, const cells *table, unsigned views, unsigned block, float *sums,
                      unsigned vectors, bool linear) {
    const unsigned pixels = vectors == 1 ? MOST_PIXELS : PIXELS;
    for (unsigned p = 0; p < 4 || p < pixels; p += pixels)
        add_pixels(base, table, views, block * 4 + p, sums + p * vectors * WIDTH, pixels, vectors, linear);
}

static void float_pack(const qb__bp_parallel_problem *problem, size_t view, unsigned lanes, unsigned slices,
                       const float *rows, size_t row_stride, void *block) {
    (void)view;
    const size_t columns = problem->columns;
    float *to = block;
    memset(to, 0, GUARD * lanes * sizeof *to);
    to += GUARD * lanes;
    memset(to + columns * lanes, 0, GUARD * lanes * sizeof *to);
    for (size_t c = 0; c < columns; c += WIDTH) {
        unsigned n = columns - c < WIDTH ? (unsigned)(columns - c) : WIDTH;
        for (unsigned lane = 0; lane < lanes; lane += WIDTH) {
            _Alignas(64) float square[WIDTH][WIDTH];
            for (unsigned i = 0; i < WIDTH; i++) {
                if (lane + i < slices && n == WIDTH) {
                    memcpy(square[i], rows + (lane + i) * row_stride + c, sizeof square[i]);
                    continue;
                }
                memset(square[i], 0, sizeof square[i]);
                if (lane + i < slices) memcpy(square[i], rows + (lane + i) * row_stride + c, n * sizeof(float));
            }
            transpose(square);
            for (unsigned i = 0; i < n; i++) vector_stream(to + (c + i) * lanes + lane, vector_load(square[i]));
        }
    }
    stream_fence();
}

INLINE void float_run(const qb__bp_parallel_problem *problem, const void *packed, unsigned lanes, unsigned slices,
                      size_t x0, size_t x1, size_t y0, size_t y1, float *out, size_t stride_z, size_t stride_y,
                      void *scratch_memory, bool linear) {
    unsigned width = (unsigned)(x1 - x0), height = (unsigned)(y1 - y0);
    scratch *s = scratch_memory;
    switch (lanes / WIDTH) {
    case 1: add_tile(problem, packed, 1 * WIDTH, x0, y0, width, height, s, linear); break;
    case 2: add_tile(problem, packed, 2 * WIDTH, x0, y0, width, height, s, linear); break;
    case 3: add_tile(problem, packed, 3 * WIDTH, x0, y0, width, height, s, linear); break;
    default: add_tile(problem, packed, 4 * WIDTH, x0, y0, width, height, s, linear); break;
    }
    write_tile(s->sums, lanes, slices, width, height, out + y0 * stride_y + x0, stride_z, stride_y, NULL);
}

static void linear_run(const qb__bp_parallel_problem *problem, const void *packed, unsigned lanes, unsigned slices,
                       size_t x0, size_t x1, size_t y0, size_t y1, float *out, size_t stride_z, size_t stride_y,
                       void *scratch_memory) {
    float_run(problem, packed, lanes, slices, x0, x1, y0, y1, out, stride_z, stride_y, scratch_memory, true);
}

static void nearest_run(const qb__bp_parallel_problem *problem, const void *packed, unsigned lanes, unsigned slices,
                        size_t x0, size_t x1, size_t y0, size_t y1, float *out, size_t stride_z, size_t stride_y,
                        void *scratch_memory) {
    float_run(problem, packed, lanes, slices, x0, x1, y0, y1, out, stride_z, stride_y, scratch_memory, false);
}

/* A row of these functions; the including file defines the FEATURES that its vectors need. */
#define LANES_VARIANT(name, interpolation, kind, listed_speed, same)                                                   \
    {                                                                                                                  \
        .head = {.id = name,                                                                                           \
                 .operation = QB__BP_PARALLEL,                                                                         \
                 .interp = kind,                                                                                       \
                 .features = FEATURES,                                                                                 \
                 .accuracy = QB_ACCURACY_HIGH,                                                                         \
                 .speed = listed_speed,                                                                                \
                 .step = WIDTH,                                                                                        \
                 .most = MOST_VECTORS * WIDTH,                                                                         \
                 .unusable = lanes_unusable},                                                                          \
        .view_bytes = lanes_view_bytes, .pack = float_pack, .tile = TILE, .scratch_bytes = lanes_scratch_bytes,        \
        .run = interpolation##_run, .one = same                                                                        \
    }
