/* SPDX-License-Identifier: MIT */
/* Parallel-beam back-projection of many slices at once: the common body of the vector variants.
 *
 * A view's block is [guard + columns + guard][lanes]: the slices are neighbours, so one coordinate, one pair of weights
 * and unit-stride loads serve all of them. The loops, outermost first:
 *
 *   CACHE_VIEWS views     the columns that a tile needs from them stay in the L2 cache
 *   SUB_W x SUB_H pixels  a subtile: its columns of BLOCK_VIEWS views, and its sums, stay in L1; in a plane that is one
 *                         pixel wide, a line of as many pixels
 *   BLOCK_VIEWS views     first a table of the position and weight of each pixel, then
 *   2x2 pixels            their sums stay in registers through all views of the block; in a line, four pixels
 *
 * The including file supplies the vector width and the arithmetic:
 *   WIDTH                      lanes of one 32-bit vector
 *   COLUMN_VECTORS(lanes)      vectors of one column with all lanes
 *   PACKED_BYTES(lanes)        bytes of one column
 *   cells_fill()               sixteen table entries
 *   block_add()                blocks of four pixels, all lanes, the views of one table
 *   BLOCKS_TOGETHER(lanes)     blocks of four pixels that block_add() computes at a time; 1 by default
 *   SKIPPED_VIEWS              views that are left out together, if none of them sees the pixels; 1 by default
 *   transpose(rows)            a WIDTH x WIDTH square of floats in place */
#include "bp_parallel.h"
#include "bp_parallel_line.h"

#include <string.h>

#ifndef SUB_W
#define SUB_W 8
#define SUB_H 8
#endif
#ifndef BLOCK_VIEWS
#define BLOCK_VIEWS 8
#endif
#ifndef CACHE_VIEWS
#define CACHE_VIEWS 16
#endif

#ifndef BLOCKS_TOGETHER
#define BLOCKS_TOGETHER(lanes) 1
#endif
#ifndef SKIPPED_VIEWS
#define SKIPPED_VIEWS 1
#endif

#define INLINE static inline __attribute__((always_inline))

#ifndef TILE_PIXELS
#define TILE_PIXELS 64
#endif

enum {
    TILE = TILE_PIXELS,
    GUARD = 2,
    SUB_PIXELS = SUB_W * SUB_H,
    SUB_CHUNKS = SUB_PIXELS / 16,
    SUBTILES = TILE / SUB_W * (TILE / SUB_H),
};

_Static_assert(SUB_W % 8 == 0 && SUB_H % 2 == 0 && TILE % SUB_W == 0 && TILE % SUB_H == 0,
               "sixteen table entries are four 2x2 blocks side by side");
_Static_assert(CACHE_VIEWS % BLOCK_VIEWS == 0, "view blocks begin at multiples of BLOCK_VIEWS");
_Static_assert(BLOCK_VIEWS % SKIPPED_VIEWS == 0 && TILE <= SUB_PIXELS, "a line of a tile is one subtile");

/* How the pixels of a subtile lie. */
typedef enum pixel_shape { SQUARE, ROW, COLUMN } pixel_shape;

INLINE pixel_shape shape_of(unsigned width, unsigned height) {
    return height == 1 ? ROW : width == 1 ? COLUMN : SQUARE;
}

/* A pixel of a chunk of sixteen, relative to its first. */
INLINE int64_t right_of(pixel_shape shape, unsigned pixel) {
    return shape == SQUARE ? pixel / 4 * 2 + pixel % 2 : shape == ROW ? pixel : 0;
}
INLINE int64_t below(pixel_shape shape, unsigned pixel) {
    return shape == SQUARE ? pixel % 4 / 2 : shape == COLUMN ? pixel : 0;
}

/* Positions of sixteen pixels in one view: four neighbouring 2x2 blocks, block by block, each (0,0) (1,0) (0,1) (1,1); or
 * a line. */
typedef struct cells {
    uint32_t offset[16]; /* bytes from the block of the table's first view */
    float weight[16];    /* weight of the next column */
} cells;

/* One view as seen from the tile's first pixel. */
typedef struct start {
    int64_t q, a, b;
    /* steps from the first pixel of a chunk to its other pixels, in the order of cells_fill */
    _Alignas(64) int64_t step[16];
} start;

typedef struct scratch {
    start starts[CACHE_VIEWS];
    cells table[SUB_CHUNKS][BLOCK_VIEWS];
    float sums[]; /* [subtile][2x2 block][pixel][lane] */
} scratch;

INLINE void cells_fill(cells *out, const start *s, int64_t q, int32_t columns, uint32_t column_bytes, uint32_t bias,
                       bool linear);
INLINE void block_add(const char *base, const cells *table, unsigned views, unsigned block, float *sums,
                      unsigned vectors, bool linear);
/* The order of steps in cells_fill. */
static const unsigned char step_order[16];

INLINE void start_view(start *s, qb__bp_line line, size_t x0, size_t y0, pixel_shape shape) {
    s->q = qb__bp_line_at(line, x0, y0);
    s->a = line.a;
    s->b = line.b;
    for (unsigned i = 0; i < 16; i++)
        s->step[i] = line.a * right_of(shape, step_order[i]) + line.b * below(shape, step_order[i]);
}

/* A subtile: its first pixel, relative to that of the tile, and its chunks of sixteen pixels. */
typedef struct part {
    pixel_shape shape;
    unsigned x, y, chunks;
} part;

INLINE part part_of(pixel_shape shape, unsigned x, unsigned y, unsigned width, unsigned height) {
    return (part){shape, x, y, shape == SQUARE ? SUB_CHUNKS : (width * height + 15) / 16};
}

/* True if the subtile sees a column of the view. Skipping other views does not change bits, because they would only add
 * zeros. */
INLINE bool sees_detector(const start *s, const part *t, int64_t columns) {
    const int64_t q = s->q + s->a * t->x + s->b * t->y, line = 16 * t->chunks - 1;
    const int64_t right = s->a * (t->shape == SQUARE ? SUB_W - 1 : t->shape == ROW ? line : 0);
    const int64_t down = s->b * (t->shape == SQUARE ? SUB_H - 1 : t->shape == COLUMN ? line : 0);
    const int64_t low = q + (right < 0 ? right : 0) + (down < 0 ? down : 0);
    const int64_t high = q + (right > 0 ? right : 0) + (down > 0 ? down : 0);
    return high >> 32 >= -1 && low >> 32 <= columns;
}

INLINE void fill_view(scratch *s, const part *t, const start *st, unsigned number, size_t columns,
                      uint32_t column_bytes, uint32_t bias, bool linear) {
    for (unsigned chunk = 0; chunk < t->chunks; chunk++) {
        const int64_t x = t->x + (t->shape == SQUARE ? chunk % (SUB_W / 8) * 8 : t->shape == ROW ? 16 * chunk : 0);
        const int64_t y = t->y + (t->shape == SQUARE ? chunk / (SUB_W / 8) * 2 : t->shape == COLUMN ? 16 * chunk : 0);
        cells_fill(&s->table[chunk][number], st, st->q + st->a * x + st->b * y, (int32_t)columns, column_bytes, bias,
                   linear);
    }
}

INLINE unsigned fill_table(scratch *s, const part *t, const start *starts, unsigned views, size_t columns,
                           size_t view_bytes, uint32_t column_bytes, bool linear) {
    unsigned seen = 0;
    for (unsigned v = 0, end; v < views; v = end) {
        bool sees = false;
        for (end = v; end < views && end < v + SKIPPED_VIEWS; end++)
            sees |= sees_detector(starts + end, t, (int64_t)columns);
        for (unsigned i = v; sees && i < end; i++)
            fill_view(s, t, starts + i, seen++, columns, column_bytes,
                      (uint32_t)(i * view_bytes) + GUARD * column_bytes, linear);
    }
    return seen;
}

/* The data of a tile's next views are beyond the L2 cache, in pieces too short for the hardware prefetcher: each
 * subtile prefetches a share of them while it computes. */
typedef struct ahead {
    const char *at;
    size_t lines; /* lines to prefetch per 2x2 block */
} ahead;

INLINE ahead ahead_of(const qb__bp_parallel_problem *problem, const char *packed, size_t view, size_t x0, size_t y0,
                      unsigned subtile, uint32_t column_bytes) {
    enum {
        SHARES = SUBTILES > CACHE_VIEWS ? SUBTILES / CACHE_VIEWS : 1,
        VIEWS_EACH = SUBTILES > CACHE_VIEWS ? 1 : CACHE_VIEWS / SUBTILES,
        BLOCKS = SUB_PIXELS / 4 * (CACHE_VIEWS / BLOCK_VIEWS)
    };
    view += CACHE_VIEWS + subtile / SHARES * VIEWS_EACH;
    if (view >= problem->views) return (ahead){packed, 0};
    qb__bp_span span = qb__bp_line_span(qb__bp_line_of(problem, view), x0, y0, TILE, problem->columns);
    size_t bytes = (span.end - span.begin) * column_bytes / SHARES;
    const char *block = packed + view * (problem->columns + 2 * GUARD) * column_bytes;
    return (ahead){block + (GUARD + span.begin) * column_bytes + bytes * (subtile % SHARES),
                   (bytes / 64 + BLOCKS - 1) / BLOCKS};
}

INLINE void look_ahead(ahead *a) {
    for (size_t i = 0; i < a->lines; i++, a->at += 64) __builtin_prefetch(a->at, 0, 2);
}

INLINE void add_subtile(scratch *s, const part *t, ahead next, const char *packed, size_t view_bytes, size_t columns,
                        unsigned views, float *sums, unsigned lanes, bool linear) {
    const uint32_t column_bytes = PACKED_BYTES(lanes);
    for (unsigned v = 0; v < views; v += BLOCK_VIEWS) {
        unsigned n = views - v < BLOCK_VIEWS ? views - v : BLOCK_VIEWS;
        const char *base = packed + v * view_bytes;
        n = fill_table(s, t, s->starts + v, n, columns, view_bytes, column_bytes, linear);
        if (n == 0) continue;
        for (unsigned i = 0; i < 4 * t->chunks; i += BLOCKS_TOGETHER(lanes)) {
            for (unsigned k = 0; k < BLOCKS_TOGETHER(lanes); k++) look_ahead(&next);
            block_add(base, s->table[i / 4], n, i % 4, sums + (size_t)i * 4 * lanes, COLUMN_VECTORS(lanes), linear);
        }
    }
}

/* Index of the sums of pixel (x, y) in a tile. */
INLINE size_t pixel_place(pixel_shape shape, unsigned x, unsigned y) {
    unsigned subtile = y / SUB_H * (TILE / SUB_W) + x / SUB_W;
    unsigned block = y % SUB_H / 2 * (SUB_W / 2) + x % SUB_W / 2;
    return shape == SQUARE ? (size_t)subtile * SUB_PIXELS + block * 4 + y % 2 * 2 + x % 2 : x + y;
}

/* Copy sums to out[z][y][x], WIDTH pixels of a row x WIDTH slices at a time. */
static void write_tile(const float *sums, unsigned lanes, unsigned slices, unsigned width, unsigned height, float *out,
                       size_t stride_z, size_t stride_y, const float *unscale) {
    const pixel_shape shape = shape_of(width, height);
    for (unsigned z = 0; z < slices; z += WIDTH) {
        unsigned nz = slices - z < WIDTH ? slices - z : WIDTH;
        for (unsigned y = 0; y < height; y++) {
            for (unsigned x = 0; x < width; x += WIDTH) {
                unsigned nx = width - x < WIDTH ? width - x : WIDTH;
                _Alignas(64) float square[WIDTH][WIDTH];
                for (unsigned i = 0; i < WIDTH; i++)
                    memcpy(square[i], sums + pixel_place(shape, x + i, y) * lanes + z, sizeof square[i]);
                transpose(square);
                float *to = out + z * stride_z + y * stride_y + x;
                for (unsigned i = 0; i < nz; i++) {
                    if (unscale)
                        for (unsigned k = 0; k < WIDTH; k++) square[i][k] *= unscale[z + i];
                    if (nx == WIDTH)
                        memcpy(to + i * stride_z, square[i], sizeof square[i]);
                    else
                        memcpy(to + i * stride_z, square[i], nx * sizeof(float));
                }
            }
        }
    }
}

/* Compute one tile in whole subtiles, and write the part of it that was asked for. `lanes` and `linear` are constants
 * after inlining. */
INLINE void add_tile(const qb__bp_parallel_problem *problem, const char *packed, unsigned lanes, size_t x0, size_t y0,
                     unsigned width, unsigned height, scratch *s, bool linear) {
    const size_t view_bytes = (problem->columns + 2 * GUARD) * PACKED_BYTES(lanes);
    const pixel_shape shape = shape_of(width, height);
    const unsigned right = shape == SQUARE ? SUB_W : TILE, down = shape == SQUARE ? SUB_H : TILE;
    memset(s->sums, 0, sizeof(float) * (shape == SQUARE ? TILE * TILE : SUB_PIXELS) * lanes);
    for (size_t v = 0; v < problem->views; v += CACHE_VIEWS) {
        const size_t left = problem->views - v;
        const unsigned n = left < CACHE_VIEWS ? (unsigned)left : CACHE_VIEWS;
        for (unsigned i = 0; i < n; i++) start_view(&s->starts[i], qb__bp_line_of(problem, v + i), x0, y0, shape);
        for (unsigned y = 0; y < height; y += down) {
            for (unsigned x = 0; x < width; x += right) {
                const part t = part_of(shape, x, y, width, height);
                const unsigned number = y / SUB_H * (TILE / SUB_W) + x / SUB_W;
                ahead next = ahead_of(problem, packed, v, x0, y0, number, PACKED_BYTES(lanes));
                if (shape != SQUARE) next.lines = 0;
                add_subtile(s, &t, next, packed + v * view_bytes, view_bytes, problem->columns, n,
                            s->sums + pixel_place(shape, x, y) * lanes, lanes, linear);
            }
        }
    }
}

static size_t lanes_view_bytes(const qb__bp_parallel_problem *problem, unsigned lanes) {
    return (problem->columns + 2 * GUARD) * PACKED_BYTES(lanes);
}

static size_t lanes_scratch_bytes(const qb__bp_parallel_problem *problem, unsigned lanes) {
    (void)problem;
    return sizeof(scratch) + sizeof(float) * TILE * TILE * lanes;
}

/* A table's offsets are 32 bits. */
static const char *lanes_unusable(const struct qb__device_info *device, const void *of, const int *values) {
    const qb__bp_parallel_problem *problem = of;
    (void)device, (void)values;
    if (problem->columns >= 1u << 18) return "rows of 262144 columns and more are too long for it";
    return qb__bp_line_unfit(problem);
}
