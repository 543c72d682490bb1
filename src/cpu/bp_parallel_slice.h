/* SPDX-License-Identifier: MIT */
/* Parallel-beam back-projection of one slice: WIDTH pixels of a row are a vector, and the columns
 * they read are fetched by permutes out of a window of WIDTH cells instead of by gathers.
 *
 * A view's block holds two arrays over the cells k = [k, k + 1] between column centres: the middle
 * value m = (P[k] + P[k + 1]) / 2 and the difference d = P[k + 1] - P[k]. With r = h - 1/2, cell
 * k = round(r) and P(h) = m[k] + (r - k) d[k]: rounding to nearest gives both the cell and the
 * rest. WIDTH pixels at most one column apart fall into WIDTH cells; wider pixels are gathered.
 *
 * The including file supplies
 *   WIDTH, vector, vector_load(), vector_store(), vector_zero(), vector_set1(), vector_add(),
 *   vector_fma()     the arithmetic
 *   vector_rest()    (r, r + ROUND) -> r - round(r)
 *   vector_window()  the cells of a window that the low bits of r + ROUND name
 *   vector_gather()  the cells first + round(r), at most `last` and at least -GUARD
 *   rows_fill()      WIDTH rows of a table */
#include "bp_parallel.h"
#include "bp_parallel_line.h"

#include <string.h>

#define INLINE static inline __attribute__((always_inline))

enum { TILE = 64, GUARD = WIDTH + 1, CACHE_VIEWS = 32 };

/* Adding it leaves the rounded number in the low bits, ties to even. */
#define ROUND 0x1.8p23f

/* How WIDTH x WIDTH pixels read one view. */
typedef struct rows {
    _Alignas(64)
        int32_t cell[WIDTH]; /* of each row's leftmost coordinate, counted from the array's begin */
    _Alignas(64) float rest[WIDTH]; /* what it exceeds the middle of that cell by */
    _Alignas(64) float step[WIDTH]; /* to each pixel, never negative */
    const float *middle, *difference;
    bool narrow;
} rows;

typedef struct scratch {
    rows table[CACHE_VIEWS];
    _Alignas(64) float sums[TILE][TILE];
} scratch;

/* Cells of one array of a block. */
static size_t cell_count(size_t columns) {
    return (columns + 2 * GUARD + 15) / 16 * 16;
}

INLINE void rows_fill(rows *out, int64_t q, int64_t b, int32_t low, int32_t high);
INLINE vector vector_rest(vector r, vector named);
INLINE vector vector_window(vector named, const float *cells);
INLINE vector vector_gather(vector r, int32_t first, int32_t last, const float *cells);

/* false when no pixel of the square at (x, y) sees the view. */
INLINE bool fill_view(rows *out, qb__bp_line line, size_t x, size_t y, size_t columns,
                      const float *block) {
    int64_t q = qb__bp_line_at(line, x, y);
    int64_t right = line.a * (WIDTH - 1), down = line.b * (WIDTH - 1);
    int64_t left = q + (right < 0 ? right : 0);
    int64_t lowest = left + (down < 0 ? down : 0);
    int64_t highest = q + (right > 0 ? right : 0) + (down > 0 ? down : 0);
    if (highest >> 32 < -1 || lowest >> 32 > (int64_t)columns) return false;

    out->middle = block;
    out->difference = block + cell_count(columns);
    out->narrow = line.a >= -(INT64_C(1) << 32) && line.a <= INT64_C(1) << 32;
    const float a = (float)((double)line.a * 0x1p-32);
    for (int i = 0; i < WIDTH; i++) out->step[i] = a * (float)(a < 0 ? i - (WIDTH - 1) : i);
    /* A window clamped to either end holds only zeros; gathered cells are clamped one by one. */
    if (out->narrow)
        rows_fill(out, left, line.b, -GUARD, (int32_t)columns);
    else
        rows_fill(out, left, line.b, INT32_MIN, INT32_MAX);
    return true;
}

INLINE void add_narrow(const rows *t, vector sum[WIDTH]) {
    const vector step = vector_load(t->step), round = vector_set1(ROUND);
#pragma GCC unroll 16
    for (int i = 0; i < WIDTH; i++) {
        vector r = vector_add(step, vector_set1(t->rest[i]));
        vector named = vector_add(r, round);
        sum[i] = vector_add(sum[i], vector_window(named, t->middle + t->cell[i]));
        sum[i] = vector_fma(vector_rest(r, named), vector_window(named, t->difference + t->cell[i]),
                            sum[i]);
    }
}

INLINE void add_wide(const rows *t, vector sum[WIDTH], int32_t last) {
    const vector step = vector_load(t->step), round = vector_set1(ROUND);
#pragma GCC unroll 16
    for (int i = 0; i < WIDTH; i++) {
        vector r = vector_add(step, vector_set1(t->rest[i]));
        vector rest = vector_rest(r, vector_add(r, round));
        sum[i] = vector_add(sum[i], vector_gather(r, t->cell[i], last, t->middle));
        sum[i] = vector_fma(rest, vector_gather(r, t->cell[i], last, t->difference), sum[i]);
    }
}

INLINE void add_square(const rows *table, unsigned views, float (*sums)[TILE], size_t columns) {
    vector sum[WIDTH];
#pragma GCC unroll 16
    for (int i = 0; i < WIDTH; i++) sum[i] = vector_load(sums[i]);
    for (unsigned v = 0; v < views; v++) {
        if (table[v].narrow)
            add_narrow(table + v, sum);
        else
            add_wide(table + v, sum, (int32_t)columns + GUARD);
    }
#pragma GCC unroll 16
    for (int i = 0; i < WIDTH; i++) vector_store(sums[i], sum[i]);
}

static void slice_run(const qb__bp_parallel_problem *problem, const void *packed, unsigned lanes,
                      unsigned slices, size_t x0, size_t x1, size_t y0, size_t y1, float *out,
                      size_t stride_z, size_t stride_y, void *scratch_memory) {
    (void)lanes, (void)slices, (void)stride_z;
    scratch *s = scratch_memory;
    const size_t stride = 2 * cell_count(problem->columns);
    const unsigned width = (unsigned)(x1 - x0), height = (unsigned)(y1 - y0);
    memset(s->sums, 0, sizeof s->sums);
    for (size_t first = 0; first < problem->views; first += CACHE_VIEWS) {
        size_t end = first + CACHE_VIEWS < problem->views ? first + CACHE_VIEWS : problem->views;
        for (unsigned y = 0; y < height; y += WIDTH) {
            for (unsigned x = 0; x < width; x += WIDTH) {
                unsigned n = 0;
                for (size_t v = first; v < end; v++)
                    n += fill_view(s->table + n, qb__bp_line_of(problem, v), x0 + x, y0 + y,
                                   problem->columns, (const float *)packed + v * stride);
                add_square(s->table, n, (float(*)[TILE]) & s->sums[y][x], problem->columns);
            }
        }
    }
    for (unsigned y = 0; y < height; y++)
        memcpy(out + (y0 + y) * stride_y + x0, s->sums[y], width * sizeof(float));
}

static void slice_pack(const qb__bp_parallel_problem *problem, size_t view, unsigned lanes,
                       unsigned slices, const float *row, size_t row_stride, void *block) {
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

/* Single-precision steps hold their accuracy while a vector spans no more than a few hundred
 * columns. */
static bool slice_applicable(const qb__bp_parallel_problem *problem) {
    if (problem->columns >= 1u << 28 || !qb__bp_line_fits(problem)) return false;
    for (size_t v = 0; v < problem->views; v++)
        if (fabs(problem->ax[v]) > 16.0) return false;
    return true;
}
