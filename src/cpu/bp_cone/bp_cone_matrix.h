/* SPDX-License-Identifier: MIT */
/* bp_cone_matrix in vectors of WIDTH voxels along x. The including file supplies
 *
 *   WIDTH, vector, integers, lanes    single precision, 32-bit integers, lane masks
 *   vector_...(), integers_...()      arithmetic
 *   lanes_between(begin, end)         the lanes begin <= lane < end
 *   vector_inverse()                  1 / w, to an ulp or two
 *   sample()                          the interpolated pixel
 *
 * and, through `layout`, the storage of pixels: rows of `stride` 32-bit cells, with GUARD zero cells before the first
 * column and GUARD zero rows before the window's first. */
#pragma once

#include "bp_cone_ahead.h"
#include "bp_cone_variants.h"

#include <string.h>

/* Size of a pixel in the coordinates of sample(). */
#ifndef COORDINATES
#define COORDINATES 1.0
#endif
/* Unit of stride_cells. */
#ifndef STRIDE_UNIT
#define STRIDE_UNIT 1
#endif

#define INLINE static inline __attribute__((always_inline))

/* Rounding may move a coordinate slightly beyond the border; the second tap reads one pixel farther. */
enum { GUARD = 2, HEADER = 64 };

static size_t cell_stride(const qb__bp_cone_problem *p) {
    size_t stride = (p->columns + 2 * GUARD + 1 + 15) / 16 * 16;
    /* Rows a multiple of 4 KiB apart would use the same cache sets. */
    return stride % 512 ? stride : stride + 16;
}

static size_t cell_rows(qb__bp_cone_window window) { return window.r1 - window.r0 + 2 * GUARD + 1; }

static size_t matrix_view_bytes(const qb__bp_cone_problem *p, qb__bp_cone_window window) {
    size_t bytes;
    if (p->columns > SIZE_MAX / 64) return 0;
    if (__builtin_mul_overflow(cell_rows(window), 4 * cell_stride(p), &bytes)) return 0;
    return bytes > SIZE_MAX - HEADER ? 0 : bytes + HEADER;
}

/* Indices within a block are 32 bits wide. */
static const char *matrix_unusable(const struct qb__device_info *device, const void *of, const int *values) {
    const qb__bp_cone_problem *p = of;
    const size_t bytes = matrix_view_bytes(p, (qb__bp_cone_window){0, p->rows});
    (void)device, (void)values;
    return bytes != 0 && bytes / 4 < INT32_MAX ? NULL : "a view is too large for 32-bit indices";
}

static size_t matrix_scratch_bytes(const qb__bp_cone_problem *p) { return (void)p, (size_t)64; }

/* Vectors per line of a tile. */
enum { LINE = CONE_TILE_X / WIDTH };

/* Values of a view that are constant in a tile. */
typedef struct ray {
    vector u[LINE], v[LINE], w[LINE]; /* values of a line's voxels, minus those of its first voxel */
    const char *origin;               /* address of pixel (u0, v0) */
    vector stride;
    integers stride_cells;
} ray;

/* How cells are read; known at compile time. */
typedef struct reading {
    bool far;    /* cell indices exceed the range of single precision */
    bool gather; /* gather instructions are faster than single loads */
    bool all;    /* all lanes are active */
} reading;

INLINE vector sample(const ray *r, reading how, lanes on, vector u, vector v);

INLINE void add_vector(const ray *r, reading how, int k, lanes on, vector u0, vector v0, vector w0, float *out) {
    const vector inverse = vector_inverse(vector_add(r->w[k], w0));
    const vector u = vector_mul(vector_add(r->u[k], u0), inverse);
    const vector v = vector_mul(vector_add(r->v[k], v0), inverse);
    const vector value = sample(r, how, on, u, v), weight = vector_mul(inverse, inverse);
    out += k * WIDTH;
    if (how.all)
        vector_store(out, vector_fma(value, weight, vector_load(out)));
    else
        vector_store_some(out, on, vector_fma(value, weight, vector_load_some(out, on)));
}

INLINE void add_line(const ray *r, reading how, const cone_lines *lines, size_t y, float *out) {
    const vector u = vector_set1(lines->u[y]), v = vector_set1(lines->v[y]);
    const vector w = vector_set1(lines->w[y]);
    const int begin = lines->begin[y], end = lines->end[y];
    if (begin == 0 && end == CONE_TILE_X) {
        how.all = true;
#pragma GCC unroll 4
        for (int k = 0; k < LINE; k++) add_vector(r, how, k, lanes_between(0, WIDTH), u, v, w, out);
        return;
    }
    for (int k = begin / WIDTH; k * WIDTH < end; k++)
        add_vector(r, how, k, lanes_between(begin - k * WIDTH, end - k * WIDTH), u, v, w, out);
}

INLINE void add_plane(const ray *shared, reading how, const cone_lines *lines, size_t y0, size_t y1, ahead *next,
                      float *out, size_t stride_y) {
    const ray r = *shared; /* copied, so that it stays in registers */
    for (size_t y = y0; y < y1; y++) {
        fetch_ahead(next, y);
        if (lines->begin[y] < lines->end[y]) add_line(&r, how, lines, y, (float *)((uintptr_t)out + y * stride_y * 4));
    }
}

/* Separate functions, so that other variables do not occupy registers. */
#define PLANE(name, far, gather)                                                                                       \
    static __attribute__((noinline)) void name(const ray *r, const cone_lines *lines, size_t y0, size_t y1,            \
                                               ahead *next, float *out, size_t stride_y) {                             \
        add_plane(r, (reading){far, gather, false}, lines, y0, y1, next, out, stride_y);                               \
    }
PLANE(load_near, false, false)
PLANE(gather_near, false, true)
PLANE(load_far, true, false)
PLANE(gather_far, true, true)

static void add_view(const cone_view *c, const ray *r, bool far, const cone_tile *tile, ahead *next, float *out,
                     size_t stride_z, size_t stride_y) {
    static __typeof__(load_near) *const planes[2][2] = {{load_near, gather_near}, {load_far, gather_far}};
    const qb__bp_cone_brick *b = &tile->voxels;
    const enum cone_meeting meeting = cone_meet(c);
    cone_lines lines;
    if (meeting == CONE_OUTSIDE) return;
    cone_whole_lines(&lines, tile);
    for (size_t z = b->z0; z < b->z1; z++) {
        cone_lines_of(&lines, c, (double)(z - tile->z));
        if (meeting == CONE_ACROSS) cone_clip_lines(&lines, c, tile, (double)(z - tile->z));
        float *plane = (float *)((uintptr_t)out + (z * stride_z + tile->y * stride_y + tile->x) * 4);
        next->plane = next->volume ? next->volume + 4 * (z - tile->z) * stride_z : NULL;
        planes[far][cpu_gathers()](r, &lines, b->y0 - tile->y, b->y1 - tile->y, next, plane, stride_y);
    }
}

/* The largest |v| of the tile's voxels, relative to v0. */
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

/* `weight` is the factor of the pixels; it is included in w. */
static void matrix_add(const qb__bp_cone_problem *p, size_t view, const char *block, float weight,
                       qb__bp_cone_window window, const cone_tile *tile, ahead *next, float *out, size_t stride_z,
                       size_t stride_y) {
    cone_view c = cone_view_of(p, view, tile, window);
    const size_t stride = cell_stride(p);
    const double scale = 1 / sqrt((double)weight);
    const bool far = (reach(&c, p, tile) + 2) * (double)stride > 0x1p22;
    ray r = {.stride = vector_set1((float)stride), .stride_cells = integers_set1((int)(STRIDE_UNIT * stride))};
    for (int i = 0; i < 4; i++) c.u[i] *= COORDINATES * scale, c.v[i] *= COORDINATES * scale, c.w[i] *= scale;
    int64_t cell = (c.v0 - (int64_t)window.r0 + GUARD) * (int64_t)stride + c.u0 + GUARD;
    r.origin = (const char *)((uintptr_t)block + (uintptr_t)(HEADER + 4 * cell));
    for (int k = 0; k < LINE; k++) {
        const vector place = vector_place(k * WIDTH);
        r.u[k] = vector_mul(vector_set1((float)c.u[0]), place);
        r.v[k] = vector_mul(vector_set1((float)c.v[0]), place);
        r.w[k] = vector_mul(vector_set1((float)c.w[0]), place);
    }
    add_view(&c, &r, far, tile, next, out, stride_z, stride_y);
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

/* What is read after view v of a tile: the next view's cells, or the next tile's first cells and its voxels. */
static ahead after(const qb__bp_cone_problem *p, size_t v, size_t first, size_t end, const char *packed,
                   qb__bp_cone_window window, const cone_tile *tile, const cone_tile *later, const float *out,
                   size_t stride_z, size_t stride_y) {
    const size_t bytes = matrix_view_bytes(p, window), stride = 4 * cell_stride(p);
    const char *block = packed + HEADER + 4 * GUARD;
    if (v + 1 < end) return ahead_of(p, v + 1, block + (v + 1 - first) * bytes, stride, GUARD, window, tile);
    if (!later) return (ahead){.rows = 0};
    ahead a = ahead_of(p, first, block, stride, GUARD, window, later);
    a.volume = (const char *)((uintptr_t)out + 4 * (later->z * stride_z + later->y * stride_y + later->x));
    a.stride_y = 4 * stride_y;
    return a;
}

static void matrix_run(const qb__bp_cone_problem *p, size_t first, size_t end, const void *packed,
                       qb__bp_cone_window window, qb__bp_cone_brick b, float *out, size_t stride_z, size_t stride_y,
                       bool accumulate, void *scratch) {
    (void)scratch;
    const size_t bytes = matrix_view_bytes(p, window);
    cone_tile tile, later;
    if (!accumulate) clear(b, out, stride_z, stride_y);
    for (bool more = cone_first_tile(b, &tile); more; tile = later) {
        more = cone_next_tile(b, &tile, &later);
        for (size_t v = first; v < end; v++) {
            const char *block = (const char *)packed + (v - first) * bytes;
            const float weight = block_weight(block);
            ahead next = after(p, v, first, end, packed, window, &tile, more ? &later : NULL, out, stride_z, stride_y);
            if (weight > 0) matrix_add(p, v, block, weight, window, &tile, &next, out, stride_z, stride_y);
        }
    }
}

/* Write a part of a block: a header of 16 floats, and rows of cells. `fill` writes the columns' cells of the row that
 * begins with pixel row r of the window, for rows `above` <= r < rows; the frame of zeros is written here. */
INLINE void pack_rows(const qb__bp_cone_problem *p, qb__bp_cone_window window, const float *header, const float *image,
                      size_t row_stride, char *block, size_t part, size_t parts, int64_t above,
                      void (*fill)(char *cells, const float *image, size_t row_stride, int64_t r, int64_t rows,
                                   size_t columns, float scale),
                      float scale) {
    const int64_t rows = (int64_t)(window.r1 - window.r0);
    const size_t stride = cell_stride(p), all = cell_rows(window), after = GUARD + p->columns;
    if (part == 0) memcpy(block, header, HEADER);
    for (size_t i = all * part / parts; i < all * (part + 1) / parts; i++) {
        char *cells = block + HEADER + 4 * i * stride;
        const int64_t r = (int64_t)i - GUARD;
        if (rows == 0 || r < above || r >= rows) {
            memset(cells, 0, 4 * stride);
            continue;
        }
        memset(cells, 0, 4 * GUARD);
        fill(cells + 4 * GUARD, image, row_stride, r, rows, p->columns, scale);
        memset(cells + 4 * after, 0, 4 * (stride - after));
    }
}

#define MATRIX_VARIANT                                                                                                 \
    .brick = {16 * CONE_TILE_X, CONE_TILE_Y, CONE_TILE_Z}, .view_bytes = matrix_view_bytes,                            \
    .scratch_bytes = matrix_scratch_bytes, .run = matrix_run
