/* SPDX-License-Identifier: MIT */
/* Prefetching in bp_cone_matrix: the cells that the rays of the next view will read, a box around the tile's image;
 * and, before a new tile, its voxels. */
#pragma once

#include "bp_cone_line.h"

enum { CACHE_LINE = 64 };

typedef struct ahead {
    const char *row;            /* start of the next row to fetch */
    size_t lines, rows, stride; /* cache lines per row, rows left, bytes between rows */
    size_t line, each;          /* lines fetched of the row; lines to fetch per line of voxels */
    const char *volume, *plane; /* voxels of the next tile and the current plane of it; NULL = none */
    size_t stride_y;            /* bytes */
} ahead;

static inline __attribute__((always_inline)) void fetch_ahead(ahead *a, size_t y) {
    for (size_t i = 0; i < a->each && a->rows > 0; i++) {
        __builtin_prefetch(a->row + CACHE_LINE * a->line, 0, 2);
        if (++a->line < a->lines) continue;
        a->line = 0;
        a->row += a->stride;
        a->rows--;
    }
    if (!a->plane) return;
    for (size_t k = 0; k < CONE_TILE_X * sizeof(float); k += CACHE_LINE)
        __builtin_prefetch(a->plane + y * a->stride_y + k, 1, 2);
}

/* `cells` is the cell of pixel column 0, `guard` rows above the window's first row. */
static inline ahead ahead_of(const qb__bp_cone_problem *p, size_t view, const char *cells, size_t stride, size_t guard,
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
    ahead a = {.stride = stride};
    if (!(u0 <= u1 && v0 <= v1)) return a;
    const uintptr_t row = (uintptr_t)cells + (size_t)(v0 + (double)guard - (double)window.r0) * stride;
    const uintptr_t first = (row + (uintptr_t)(4 * (int64_t)u0)) / CACHE_LINE;
    const uintptr_t last = (row + (uintptr_t)(4 * (int64_t)u1 + 4)) / CACHE_LINE;
    a.row = (const char *)(first * CACHE_LINE);
    a.lines = last - first + 1;
    a.rows = (size_t)(v1 - v0) + 1;
    const size_t steps = (b->z1 - b->z0) * (b->y1 - b->y0);
    a.each = (a.lines * a.rows + steps - 1) / steps;
    return a;
}
