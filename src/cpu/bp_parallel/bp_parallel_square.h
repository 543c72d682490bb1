/* SPDX-License-Identifier: MIT */
/* Parallel-beam back-projection of one slice: WIDTH pixels of a row are a vector, and WIDTH rows of them are a square,
 * whose sums stay in registers. The columns that a vector reads are fetched by permutes from a window of WIDTH cells,
 * instead of by gathers: WIDTH pixels that are at most one column apart lie in WIDTH cells; wider pixels are gathered.
 *
 * Vectors are of bp_parallel_square_avx2.h or bp_parallel_square_avx512.h: floats (vector), 32-bit integers (whole), and
 *   window()       the cells of a window selected by the low bits of a whole
 *   gather()       any cells, limited to 0 to `last`
 *   rows_split()   cells of WIDTH rows of a table; returns the fractions, 32 bits
 * What a cell is, and how it is added, is in bp_parallel_slice.h or bp_parallel_one.h:
 *   array_count()  arrays of a view's block
 *   steps_fill(), rows_fill()      the parts of a coordinate
 *   row_narrow(), row_wide()       add one view to the pixels of a row */
#include "bp_parallel.h"
#include "bp_parallel_line.h"

#include <string.h>

#define INLINE static inline __attribute__((always_inline))

enum {
    TILE = 64,
    GUARD = WIDTH + 1,
    CACHE_VIEWS = 32,
    SQUARES = TILE / WIDTH * (TILE / WIDTH),
    AHEAD = (CACHE_VIEWS + SQUARES - 1) / SQUARES
};

/* Coordinates of the pixels of a vector, relative to the leftmost one, never negative. One of both is used. */
typedef union steps {
    _Alignas(64) float columns[WIDTH];
    struct {
        _Alignas(64) uint32_t low[WIDTH];
        _Alignas(64) int32_t high[WIDTH];
    }; /* halves of the fixed point */
} steps;

/* One view as a tile sees it. */
typedef struct start {
    qb__bp_line line;
    int64_t q;          /* coordinate of the tile's first pixel */
    const float *cells; /* the view's block */
    size_t apart;       /* from one array of the block to the next */
    bool narrow;
    steps steps;
} start;

/* Positions of WIDTH x WIDTH pixels in one view. */
typedef struct rows {
    _Alignas(64) int32_t cell[WIDTH]; /* cell of each row's leftmost coordinate, relative to the array's start */
    float rest[WIDTH];                /* where that coordinate lies in the cell, as rows_fill() says it */
    const start *view;
} rows;

typedef struct scratch {
    start starts[CACHE_VIEWS];
    rows table[CACHE_VIEWS];
    _Alignas(64) float sums[TILE][TILE];
} scratch;

/* Cells of one array of a block. */
static size_t cell_count(size_t columns) { return (columns + 2 * GUARD + 15) / 16 * 16; }

INLINE void steps_fill(steps *out, int64_t a);
INLINE void rows_fill(rows *out, int64_t q, int64_t b, int32_t low, int32_t high);
INLINE vector row_narrow(vector sum, const rows *t, int row);
INLINE vector row_wide(vector sum, const rows *t, int row, int32_t last);
INLINE size_t array_count(void);

static void start_view(start *s, qb__bp_line line, size_t x0, size_t y0, size_t columns, const float *block) {
    s->line = line;
    s->q = qb__bp_line_at(line, x0, y0);
    s->cells = block;
    s->apart = cell_count(columns);
    s->narrow = line.a >= -(INT64_C(1) << 32) && line.a <= INT64_C(1) << 32;
    steps_fill(&s->steps, line.a);
}

/* False if no pixel of the square at (x, y) of the tile sees the view. */
INLINE bool fill_view(rows *out, const start *s, int64_t x, int64_t y, size_t columns) {
    int64_t q = s->q + s->line.a * x + s->line.b * y;
    int64_t right = s->line.a * (WIDTH - 1), down = s->line.b * (WIDTH - 1);
    int64_t left = q + (right < 0 ? right : 0);
    int64_t lowest = left + (down < 0 ? down : 0);
    int64_t highest = q + (right > 0 ? right : 0) + (down > 0 ? down : 0);
    if (highest >> 32 < -1 || lowest >> 32 > (int64_t)columns) return false;
    out->view = s;
    /* A window limited to either end holds only zeros; gathered cells are limited one by one. */
    if (s->narrow)
        rows_fill(out, left, s->line.b, -GUARD, (int32_t)columns);
    else
        rows_fill(out, left, s->line.b, INT32_MIN, INT32_MAX);
    return true;
}

/* A separate function for each way to fetch, because compilers merge the two loops badly. */
static __attribute__((noinline)) void add_narrow(const rows *t, const rows *end, float (*sums)[TILE]) {
    vector sum[WIDTH];
#pragma GCC unroll 16
    for (int i = 0; i < WIDTH; i++) sum[i] = vector_load(sums[i]);
    for (; t < end; t++)
#pragma GCC unroll 16
        for (int i = 0; i < WIDTH; i++) sum[i] = row_narrow(sum[i], t, i);
#pragma GCC unroll 16
    for (int i = 0; i < WIDTH; i++) vector_store(sums[i], sum[i]);
}

static __attribute__((noinline)) void add_wide(const rows *t, const rows *end, float (*sums)[TILE], int32_t last) {
    for (; t < end; t++)
        for (int i = 0; i < WIDTH; i++) vector_store(sums[i], row_wide(vector_load(sums[i]), t, i, last));
}

static void add_square(const rows *table, unsigned views, float (*sums)[TILE], size_t columns) {
    const rows *end = table + views;
    while (table < end) {
        const rows *next = table;
        while (next < end && next->view->narrow == table->view->narrow) next++;
        if (table->view->narrow)
            add_narrow(table, next, sums);
        else
            add_wide(table, next, sums, (int32_t)columns + GUARD);
        table = next;
    }
}

/* The data of a later view for this tile are beyond the L2 cache, in pieces too short for the hardware prefetcher. */
static void look_ahead(const qb__bp_parallel_problem *problem, const float *packed, size_t view, size_t x0, size_t y0) {
    if (view >= problem->views) return;
    const size_t cells = cell_count(problem->columns);
    const float *block = packed + view * array_count() * cells + GUARD;
    qb__bp_span span = qb__bp_line_span(qb__bp_line_of(problem, view), x0, y0, TILE, problem->columns);
    for (size_t i = 0; i < array_count(); i++)
        for (size_t k = span.begin; k < span.end + 16; k += 16) __builtin_prefetch(block + i * cells + k, 0, 2);
}

static void square_run(const qb__bp_parallel_problem *problem, const void *packed, unsigned lanes, unsigned slices,
                       size_t x0, size_t x1, size_t y0, size_t y1, float *out, size_t stride_z, size_t stride_y,
                       void *scratch_memory) {
    (void)lanes, (void)slices, (void)stride_z;
    scratch *s = scratch_memory;
    const size_t stride = array_count() * cell_count(problem->columns);
    const unsigned width = (unsigned)(x1 - x0), height = (unsigned)(y1 - y0);
    memset(s->sums, 0, sizeof s->sums);
    for (size_t first = 0; first < problem->views; first += CACHE_VIEWS) {
        const size_t left = problem->views - first;
        const unsigned views = left < CACHE_VIEWS ? (unsigned)left : CACHE_VIEWS;
        for (unsigned v = 0; v < views; v++)
            start_view(s->starts + v, qb__bp_line_of(problem, first + v), x0, y0, problem->columns,
                       (const float *)packed + (first + v) * stride);
        size_t ahead = first + CACHE_VIEWS;
        for (unsigned y = 0; y < height; y += WIDTH) {
            for (unsigned x = 0; x < width; x += WIDTH) {
                for (unsigned i = 0; i < AHEAD && ahead < first + 2 * CACHE_VIEWS; i++)
                    look_ahead(problem, packed, ahead++, x0, y0);
                unsigned n = 0;
                for (unsigned v = 0; v < views; v++)
                    n += fill_view(s->table + n, s->starts + v, x, y, problem->columns);
                add_square(s->table, n, (float(*)[TILE]) & s->sums[y][x], problem->columns);
            }
        }
    }
    for (unsigned y = 0; y < height; y++) memcpy(out + (y0 + y) * stride_y + x0, s->sums[y], width * sizeof(float));
}

static size_t square_view_bytes(const qb__bp_parallel_problem *problem, unsigned lanes) {
    (void)lanes;
    return array_count() * cell_count(problem->columns) * sizeof(float);
}

static size_t square_scratch_bytes(const qb__bp_parallel_problem *problem, unsigned lanes) {
    (void)problem, (void)lanes;
    return sizeof(scratch);
}

/* A variant of these functions; the including file defines the FEATURES that its vectors need. */
#define SQUARE_VARIANT(name, listed_speed, pack_row, unusable_for)                                                     \
    {                                                                                                                  \
        .head = {.id = name,                                                                                           \
                 .operation = QB__BP_PARALLEL,                                                                         \
                 .interp = QB_INTERP_LINEAR,                                                                           \
                 .features = FEATURES,                                                                                 \
                 .accuracy = QB_ACCURACY_HIGH,                                                                         \
                 .speed = listed_speed,                                                                                \
                 .step = 1,                                                                                            \
                 .most = 1,                                                                                            \
                 .unusable = unusable_for},                                                                            \
        .view_bytes = square_view_bytes, .pack = pack_row, .tile = TILE, .scratch_bytes = square_scratch_bytes,        \
        .run = square_run                                                                                              \
    }
