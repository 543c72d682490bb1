/* SPDX-License-Identifier: MIT */
/* Parallel-beam back-projection of one slice: WIDTH pixels of a row are a vector. The columns that they read are
 * fetched by permutes from a window of WIDTH cells, instead of by gathers.
 *
 * A view's block holds two arrays for the cells k = [k, k + 1] between column centres: the mean m = (P[k] + P[k + 1]) /
 * 2 and the difference d = P[k + 1] - P[k]. With r = h - 1/2, cell k = round(r) and P(h) = m[k] + (r - k) d[k]:
 * rounding to nearest gives the cell and the remainder. WIDTH pixels that are at most one column apart lie in WIDTH
 * cells; wider pixels are gathered.
 *
 * The including file supplies
 *   WIDTH, vector, vector_load(), vector_store(), vector_zero(), vector_set1(), vector_add(),
 *   vector_fma()     the arithmetic
 *   vector_rest()    (r, r + ROUND) -> r - round(r)
 *   vector_window()  the cells of a window selected by the low bits of r + ROUND
 *   vector_gather()  the cells first + round(r), at most `last` and at least -GUARD
 *   rows_fill()      WIDTH rows of a table */
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

/* Adding it leaves the rounded number in the low bits, ties to even. */
#define ROUND 0x1.8p23f

/* One view as a tile sees it. */
typedef struct start {
    qb__bp_line line;
    int64_t q; /* coordinate of the tile's first pixel */
    const float *middle, *difference;
    bool narrow;
    _Alignas(64) float step[WIDTH]; /* relative to the leftmost coordinate of a vector, never negative */
} start;

/* Positions of WIDTH x WIDTH pixels in one view. */
typedef struct rows {
    _Alignas(64) int32_t cell[WIDTH]; /* cell of each row's leftmost coordinate, relative to the array's start */
    float rest[WIDTH];                /* distance of that coordinate from the middle of the cell */
    const start *view;
} rows;

typedef struct scratch {
    start starts[CACHE_VIEWS];
    rows table[CACHE_VIEWS];
    _Alignas(64) float sums[TILE][TILE];
} scratch;

/* Cells of one array of a block. */
static size_t cell_count(size_t columns) { return (columns + 2 * GUARD + 15) / 16 * 16; }

INLINE void rows_fill(rows *out, int64_t q, int64_t b, int32_t low, int32_t high);
INLINE vector vector_rest(vector r, vector named);
INLINE vector vector_window(vector named, const float *cells);
INLINE vector vector_gather(vector r, int32_t first, int32_t last, const float *cells);

static void start_view(start *s, qb__bp_line line, size_t x0, size_t y0, size_t columns, const float *block) {
    s->line = line;
    s->q = qb__bp_line_at(line, x0, y0);
    s->middle = block;
    s->difference = block + cell_count(columns);
    s->narrow = line.a >= -(INT64_C(1) << 32) && line.a <= INT64_C(1) << 32;
    const float a = (float)((double)line.a * 0x1p-32);
    for (int i = 0; i < WIDTH; i++) s->step[i] = a * (float)(a < 0 ? i - (WIDTH - 1) : i);
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
    const vector round = vector_set1(ROUND);
    vector sum[WIDTH];
#pragma GCC unroll 16
    for (int i = 0; i < WIDTH; i++) sum[i] = vector_load(sums[i]);
    for (; t < end; t++) {
        const vector step = vector_load(t->view->step);
        const float *middle = t->view->middle, *difference = t->view->difference;
#pragma GCC unroll 16
        for (int i = 0; i < WIDTH; i++) {
            vector r = vector_add(step, vector_set1(t->rest[i]));
            vector named = vector_add(r, round);
            vector rest = vector_rest(r, named);
            sum[i] = vector_add(sum[i], vector_window(named, middle + t->cell[i]));
            sum[i] = vector_fma(rest, vector_window(named, difference + t->cell[i]), sum[i]);
        }
    }
#pragma GCC unroll 16
    for (int i = 0; i < WIDTH; i++) vector_store(sums[i], sum[i]);
}

static __attribute__((noinline)) void add_wide(const rows *t, const rows *end, float (*sums)[TILE], int32_t last) {
    for (; t < end; t++) {
        const vector step = vector_load(t->view->step);
        for (int i = 0; i < WIDTH; i++) {
            vector r = vector_add(step, vector_set1(t->rest[i]));
            vector rest = vector_rest(r, vector_add(r, vector_set1(ROUND)));
            vector sum = vector_load(sums[i]);
            sum = vector_add(sum, vector_gather(r, t->cell[i], last, t->view->middle));
            sum = vector_fma(rest, vector_gather(r, t->cell[i], last, t->view->difference), sum);
            vector_store(sums[i], sum);
        }
    }
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
    const float *block = packed + view * 2 * cells + GUARD;
    qb__bp_span span = qb__bp_line_span(qb__bp_line_of(problem, view), x0, y0, TILE, problem->columns);
    for (size_t k = span.begin; k < span.end + 16; k += 16) {
        __builtin_prefetch(block + k, 0, 2);
        __builtin_prefetch(block + cells + k, 0, 2);
    }
}

static void slice_run(const qb__bp_parallel_problem *problem, const void *packed, unsigned lanes, unsigned slices,
                      size_t x0, size_t x1, size_t y0, size_t y1, float *out, size_t stride_z, size_t stride_y,
                      void *scratch_memory) {
    (void)lanes, (void)slices, (void)stride_z;
    scratch *s = scratch_memory;
    const size_t stride = 2 * cell_count(problem->columns);
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

static void slice_pack(const qb__bp_parallel_problem *problem, size_t view, unsigned lanes, unsigned slices,
                       const float *row, size_t row_stride, void *block) {
    (void)view, (void)lanes, (void)slices, (void)row_stride;
    const size_t columns = problem->columns, cells = cell_count(columns);
    float *middle = block, *difference = middle + cells;
    memset(middle, 0, 2 * cells * sizeof(float));
    middle += GUARD, difference += GUARD;
    middle[-1] = 0.5f * row[0];
    difference[-1] = row[0];
    for (size_t k = 0; k + 1 < columns; k++) {
        middle[k] = 0.5f * (row[k] + row[k + 1]);
        difference[k] = row[k + 1] - row[k];
    }
    middle[columns - 1] = 0.5f * row[columns - 1];
    difference[columns - 1] = -row[columns - 1];
}

static size_t slice_view_bytes(const qb__bp_parallel_problem *problem, unsigned lanes) {
    (void)lanes;
    return 2 * cell_count(problem->columns) * sizeof(float);
}

static size_t slice_scratch_bytes(const qb__bp_parallel_problem *problem, unsigned lanes) {
    (void)problem, (void)lanes;
    return sizeof(scratch);
}

/* Single-precision steps are accurate while a vector spans at most a few hundred columns. */
static const char *slice_unusable(const struct qb__device_info *device, const void *of, const int *values) {
    const qb__bp_parallel_problem *problem = of;
    (void)device, (void)values;
    if (problem->columns >= 1u << 28) return "rows of 2^28 columns and more are too long for it";
    for (size_t v = 0; v < problem->views; v++)
        if (fabs(problem->ax[v]) > 16.0) return "a pixel is wider than 16 columns";
    return qb__bp_line_unfit(problem);
}

/* The row of these functions; the including file defines the FEATURES that its vectors need. */
#define SLICE_VARIANT(name, listed_speed)                                                                              \
    {                                                                                                                  \
        .head = {.id = name,                                                                                           \
                 .operation = QB__BP_PARALLEL,                                                                         \
                 .interp = QB_INTERP_LINEAR,                                                                           \
                 .features = FEATURES,                                                                                 \
                 .accuracy = QB_ACCURACY_HIGH,                                                                         \
                 .speed = listed_speed,                                                                                \
                 .step = 1,                                                                                            \
                 .most = 1,                                                                                            \
                 .unusable = slice_unusable},                                                                          \
        .view_bytes = slice_view_bytes, .pack = slice_pack, .tile = TILE, .scratch_bytes = slice_scratch_bytes,        \
        .run = slice_run                                                                                               \
    }
