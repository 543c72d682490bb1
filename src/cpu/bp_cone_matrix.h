/* SPDX-License-Identifier: MIT */
/* bp_cone_matrix in vectors of WIDTH voxels along x. The including file supplies
 *
 *   WIDTH, vector, integers, lanes    single precision, 32-bit integers, and a choice of lanes
 *   vector_...(), integers_...()      arithmetic
 *   lanes_between(begin, end)         the lanes begin <= lane < end
 *   vector_inverse()                  1 / w, to an ulp or two
 *   sample()                          the interpolated pixel
 *
 * and, through `layout`, how pixels are stored: rows of `stride` 32-bit cells, GUARD of them before
 * the first column and GUARD rows before the window's first, all zero. */
#ifndef QB_CPU_BP_CONE_MATRIX_H
#define QB_CPU_BP_CONE_MATRIX_H

#include "bp_cone_line.h"
#include "bp_cone_variants.h"

#include <string.h>

#define INLINE static inline __attribute__((always_inline))

/* Rounding may move a coordinate a hair past the border; the second tap reads one further. */
enum { GUARD = 2, HEADER = 64 };

static size_t cell_stride(const qb__bp_cone_problem *p) {
    size_t stride = (p->columns + 2 * GUARD + 1 + 15) / 16 * 16;
    /* Rows a multiple of 4 KiB apart would compete for the same sets of the caches. */
    return stride % 512 ? stride : stride + 16;
}

static size_t cell_rows(qb__bp_cone_window window) {
    return window.r1 - window.r0 + 2 * GUARD + 1;
}

static size_t matrix_view_bytes(const qb__bp_cone_problem *p, qb__bp_cone_window window) {
    size_t bytes;
    if (p->columns > SIZE_MAX / 64) return 0;
    if (__builtin_mul_overflow(cell_rows(window), 4 * cell_stride(p), &bytes)) return 0;
    return bytes > SIZE_MAX - HEADER ? 0 : bytes + HEADER;
}

/* Indices within a block are 32 bits wide. */
static bool matrix_applicable(const qb__bp_cone_problem *p) {
    size_t bytes = matrix_view_bytes(p, (qb__bp_cone_window){0, p->rows});
    return bytes != 0 && bytes / 4 < INT32_MAX;
}

static size_t matrix_scratch_bytes(const qb__bp_cone_problem *p) {
    return (void)p, (size_t)64;
}

/* What of a view stays the same along a line. */
typedef struct ray {
    vector u, v, w;     /* steps from voxel to voxel */
    const char *origin; /* of pixel (u0, v0) */
    vector stride;
    integers stride_cells;
    bool far;    /* cells are further apart than single precision counts */
    bool gather; /* the CPU gathers faster than it loads one by one */
} ray;

INLINE vector sample(const ray *r, lanes on, vector u, vector v);

INLINE void add_line(const ray *r, float bu, float bv, float bw, int begin, int end, float *out) {
    const vector u0 = vector_set1(bu), v0 = vector_set1(bv), w0 = vector_set1(bw);
    for (int x = begin / WIDTH * WIDTH; x < end; x += WIDTH) {
        const lanes on = lanes_between(begin - x, end - x);
        const vector place = vector_place(x);
        const vector inverse = vector_inverse(vector_fma(r->w, place, w0));
        const vector u = vector_mul(vector_fma(r->u, place, u0), inverse);
        const vector v = vector_mul(vector_fma(r->v, place, v0), inverse);
        const vector value = sample(r, on, u, v);
        vector sum = vector_load_some(out + x, on);
        sum = vector_fma(value, vector_mul(inverse, inverse), sum);
        vector_store_some(out + x, on, sum);
    }
}

/* The cells of the next view that the tile will read, fetched line by line while this view is
 * added: a box around the tile's shadow. */
typedef struct ahead {
    const char *row;            /* where the next line to fetch lies */
    size_t lines, rows, stride; /* cache lines of a row still to fetch, rows, bytes */
    size_t line, each; /* lines fetched of the row; lines to fetch for each line of voxels */
} ahead;

INLINE void fetch_ahead(ahead *a) {
    for (size_t i = 0; i < a->each && a->rows > 0; i++) {
        __builtin_prefetch(a->row + 64 * a->line, 0, 2);
        if (++a->line < a->lines) continue;
        a->line = 0;
        a->row += a->stride;
        a->rows--;
    }
}

static void add_view(const cone_view *c, const ray *r, const cone_tile *tile, ahead *next,
                     float *out, size_t stride_z, size_t stride_y) {
    const qb__bp_cone_brick *b = &tile->voxels;
    for (size_t z = b->z0; z < b->z1; z++) {
        cone_lines lines;
        cone_lines_of(&lines, c, tile, (double)(z - tile->z));
        for (size_t y = b->y0; y < b->y1; y++) {
            const size_t n = y - tile->y;
            const int begin = lines.begin[n], end = lines.end[n];
            fetch_ahead(next);
            if (begin >= end) continue;
            float *line = (float *)((uintptr_t)out + (z * stride_z + y * stride_y + tile->x) * 4);
            add_line(r, lines.u[n], lines.v[n], lines.w[n], begin, end, line);
        }
    }
}

static ahead ahead_of(const qb__bp_cone_problem *p, size_t view, const char *block,
                      qb__bp_cone_window window, const cone_tile *tile) {
    const qb__bp_cone_brick *b = &tile->voxels;
    const double *m = p->matrix[view], edge[2] = {-1, (double)p->columns};
    double low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY};
    for (int corner = 0; corner < 8; corner++) {
        double x = (double)(corner & 1 ? b->x1 - 1 : b->x0);
        double y = (double)(corner & 2 ? b->y1 - 1 : b->y0);
        double z = (double)(corner & 4 ? b->z1 - 1 : b->z0), w = cone_at(m + 8, x, y, z);
        for (int i = 0; i < 2; i++) {
            double at = cone_at(m + 4 * i, x, y, z) / w;
            low[i] = fmin(low[i], at), high[i] = fmax(high[i], at);
        }
    }
    double u0 = fmax(floor(low[0]), edge[0]), u1 = fmin(floor(high[0]) + 1, edge[1]);
    double v0 = fmax(floor(low[1]), (double)window.r0 - 1);
    double v1 = fmin(floor(high[1]), (double)window.r1 - 1);
    ahead a = {.stride = 4 * cell_stride(p)};
    if (!(u0 <= u1 && v0 <= v1)) return a;
    size_t first = 4 * ((size_t)(u0 + GUARD)), last = 4 * ((size_t)(u1 + GUARD) + 1);
    first = (first + HEADER) / 64 * 64, last = (last + HEADER) / 64 * 64;
    a.row = block + (size_t)(v0 + GUARD - (double)window.r0) * a.stride + first;
    a.lines = (last - first) / 64 + 1;
    a.rows = (size_t)(v1 - v0) + 1;
    const size_t steps = (b->z1 - b->z0) * (b->y1 - b->y0);
    a.each = (a.lines * a.rows + steps - 1) / steps;
    return a;
}

/* The largest |v| that the tile's voxels can have, counted from v0. */
static double reach(const cone_view *c, const qb__bp_cone_problem *p, const cone_tile *tile) {
    double most = 0;
    for (int corner = 0; corner < 8; corner++) {
        double x = corner & 1 ? fmin(CONE_TILE_X, (double)(p->nx - tile->x)) - 1 : 0;
        double y = corner & 2 ? fmin(CONE_TILE_Y, (double)(p->ny - tile->y)) - 1 : 0;
        double z = corner & 4 ? fmin(CONE_TILE_Z, (double)(p->nz - tile->z)) - 1 : 0;
        double w = cone_at(c->w, x, y, z);
        most = fmax(most, fabs(cone_at(c->v, x, y, z) / w));
    }
    return most;
}

/* `weight` is what pixels must be multiplied by; it is folded into w. */
static void matrix_add(const qb__bp_cone_problem *p, size_t view, const char *block, float weight,
                       qb__bp_cone_window window, const cone_tile *tile, ahead *next, float *out,
                       size_t stride_z, size_t stride_y) {
    cone_view c = cone_view_of(p, view, tile, window);
    const size_t stride = cell_stride(p);
    const double scale = 1 / sqrt((double)weight);
    ray r = {.stride = vector_set1((float)stride), .stride_cells = integers_set1((int)stride)};
    r.gather = cpu_gathers();
    r.far = (reach(&c, p, tile) + 2) * (double)stride > 0x1p23;
    for (int i = 0; i < 4; i++) c.u[i] *= scale, c.v[i] *= scale, c.w[i] *= scale;
    int64_t cell = (c.v0 - (int64_t)window.r0 + GUARD) * (int64_t)stride + c.u0 + GUARD;
    r.origin = (const char *)((uintptr_t)block + (uintptr_t)(HEADER + 4 * cell));
    r.u = vector_set1((float)c.u[0]);
    r.v = vector_set1((float)c.v[0]);
    r.w = vector_set1((float)c.w[0]);
    add_view(&c, &r, tile, next, out, stride_z, stride_y);
}

static void clear(qb__bp_cone_brick b, float *out, size_t stride_z, size_t stride_y) {
    for (size_t z = b.z0; z < b.z1; z++)
        for (size_t y = b.y0; y < b.y1; y++)
            memset((float *)((uintptr_t)out + (z * stride_z + y * stride_y + b.x0) * 4), 0,
                   (b.x1 - b.x0) * sizeof(float));
}

static float block_weight(const char *block) {
    float weight;
    memcpy(&weight, block, sizeof weight);
    return weight;
}

static void matrix_run(const qb__bp_cone_problem *p, size_t first, size_t end, const void *packed,
                       qb__bp_cone_window window, qb__bp_cone_brick b, float *out, size_t stride_z,
                       size_t stride_y, bool accumulate, void *scratch) {
    (void)scratch;
    const size_t bytes = matrix_view_bytes(p, window);
    if (!accumulate) clear(b, out, stride_z, stride_y);
    for (size_t z = b.z0 / CONE_TILE_Z * CONE_TILE_Z; z < b.z1; z += CONE_TILE_Z) {
        for (size_t y = b.y0 / CONE_TILE_Y * CONE_TILE_Y; y < b.y1; y += CONE_TILE_Y) {
            for (size_t x = b.x0 / CONE_TILE_X * CONE_TILE_X; x < b.x1; x += CONE_TILE_X) {
                const cone_tile tile = cone_tile_at(b, x, y, z);
                for (size_t v = first; v < end; v++) {
                    const char *block = (const char *)packed + (v - first) * bytes;
                    const float weight = block_weight(block);
                    ahead next = {.rows = 0};
                    if (v + 1 < end) next = ahead_of(p, v + 1, block + bytes, window, &tile);
                    if (weight > 0)
                        matrix_add(p, v, block, weight, window, &tile, &next, out, stride_z,
                                   stride_y);
                }
            }
        }
    }
}

static void zero_cells(char *block, size_t first, size_t count) {
    memset(block + HEADER + 4 * first, 0, 4 * count);
}

/* The zero frame around the window's cells. */
static void pack_frame(char *block, const qb__bp_cone_problem *p, size_t rows_before,
                       size_t rows_filled, size_t rows_in_all) {
    const size_t stride = cell_stride(p), after = GUARD + p->columns;
    zero_cells(block, 0, rows_before * stride);
    for (size_t i = 0; i < rows_filled; i++) {
        zero_cells(block, (rows_before + i) * stride, GUARD);
        zero_cells(block, (rows_before + i) * stride + after, stride - after);
    }
    const size_t end = rows_before + rows_filled;
    zero_cells(block, end * stride, (rows_in_all - end) * stride);
}

#define MATRIX_VARIANT                                                                             \
    .brick = {2 * CONE_TILE_X, CONE_TILE_Y, CONE_TILE_Z}, .applicable = matrix_applicable,         \
    .view_bytes = matrix_view_bytes, .scratch_bytes = matrix_scratch_bytes, .run = matrix_run

#endif
