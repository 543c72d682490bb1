/* SPDX-License-Identifier: MIT */
/* bp_cone_circular in vectors of WIDTH voxels along z. For a line of voxels along z and a view, the two detector
 * columns on either side are blended once into a profile, with the distance weight. The profile is then read at evenly
 * spaced positions. WIDTH of them lie within 2 WIDTH pixels, so that permutes of two registers fetch both taps. The two
 * halves of a mirrored problem share the positions. CHUNK voxels of a half stay in registers over several views.
 *
 * The including file supplies
 *   WIDTH, vector, vector_...()   the arithmetic
 *   places, split()               r -> floor(r), and in *rest the fraction of r
 *   taps()                        (cells, floor) -> pixels at floor and floor + 1
 * Other parts: _layout.h (packing), _table.h (positions), _sum.h (the inner loop). */
#include "bp_cone_circle.h"
#include "bp_cone_variants.h"

#include <math.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))

enum {
    CHUNK = 128,
    VECTORS = CHUNK / WIDTH,
    TILE_X = 16,
    TILE_Y = 16,
    BLOCK = 8,                    /* views whose two columns fit into the first-level cache */
    ROWS_A_VIEW = TILE_Y / BLOCK, /* rows of voxels during which one view is prefetched */
    LEAD = 32,
    TAIL = 48,
    NARROW_CELLS = 320 /* CHUNK positions less than 2 apart, plus two vectors */
};

/* Wider steps do not fit into two registers. */
#define NARROW (WIDTH > 1 ? (2 * WIDTH - 3.1) / (WIDTH - 0.999999) : 1e30)

#include "bp_cone_circular_layout.h"
#include "bp_cone_circular_table.h"
#include "bp_cone_circular_sum.h"

/* The cells of one view that a tile will read: the same lines of `columns` columns from `first` on. */
typedef struct footprint {
    const float *first;
    size_t columns, lines; /* both 0 if there is nothing to read */
} footprint;

static footprint footprint_of(const work *k, const double *m, const float *block) {
    const layout *l = k->layout;
    double left = INFINITY, right = -INFINITY, low = INFINITY, high = -INFINITY;
    for (int i = 0; i < 2; i++) {
        places_of_row row;
        find_places(k, m, i ? k->y1 - 1 : k->y0, &row);
        for (size_t x = 0; x<k->x1 - k->x0; x += k->x1 - k->x0> 1 ? k->x1 - k->x0 - 1 : 1) {
            left = fmin(left, row.u[x]), right = fmax(right, row.u[x]);
            low = fmin(low, row.place[x]);
            high = fmax(high, row.place[x] + (CHUNK + WIDTH) * row.slope[x] + WIDTH);
        }
    }
    low += first_cell(k), high += first_cell(k);
    left = fmax(floor(left), -1), right = fmin(floor(right) + 1, (double)k->problem->columns);
    low = fmax(floor(low), 0), high = fmin(high, (double)l->profile);
    if (!(left <= right && low < high)) return (footprint){.first = block};
    const size_t begin = (size_t)low / 16 * 16;
    return (footprint){block + (size_t)(left + 1) * l->column + begin, (size_t)(right - left) + 1,
                       ((size_t)high - begin + 15) / 16};
}

/* Prefetch the n-th of `parts` parts of the cells. */
static void fetch_footprint(const layout *l, const footprint *s, size_t n, size_t parts) {
    const bool both = l->held[0] && l->held[1];
    for (size_t c = n * s->columns / parts; c < (n + 1) * s->columns / parts; c++) {
        const float *column = s->first + c * l->column;
        for (size_t i = 0; i < s->lines; i++) {
            __builtin_prefetch(column + 16 * i, 0, 2);
            if (both) __builtin_prefetch(column + l->profile + 16 * i, 0, 2);
        }
    }
}

/* While a row of voxels along x is computed for a block of views, one view of the next block is prefetched. */
static void add_views(const work *k, size_t first, size_t end, const float *packed) {
    scratch *s = k->scratch;
    const size_t block = layout_bytes(k->problem, k->layout) / sizeof(float);
    const size_t width = k->x1 - k->x0;
    const bool up = k->wanted[0] && k->layout->held[0], down = k->wanted[1] && k->layout->held[1];
    if (!up && !down) return;
    for (size_t v = first; v < end; v += BLOCK) {
        const size_t last = end - v < BLOCK ? end : v + BLOCK;
        for (size_t y = k->y0; y < k->y1; y++) {
            footprint next = {.first = packed};
            const size_t part = (y - k->y0) % ROWS_A_VIEW, ahead = v + BLOCK + (y - k->y0) / ROWS_A_VIEW;
            if (ahead < end) next = footprint_of(k, k->problem->matrix[ahead], packed + (ahead - first) * block);
            fill_table(k, y, v, last, packed + (v - first) * block, block);
            for (size_t x = 0; x < width; x++) {
                float *sums = s->sums[y - k->y0][x][0];
                fetch_footprint(k->layout, &next, part * width + x, ROWS_A_VIEW * width);
                (up && down ? add_both : up ? add_first : add_second)(k, s->table[x], s->entries[x], sums);
            }
        }
    }
}

/* Copy the wanted voxels between the volume and the sums, whose voxels along z are neighbours. */
static void exchange(const work *k, float *out, size_t stride_z, size_t stride_y, ptrdiff_t ahead, bool store) {
    scratch *s = k->scratch;
    for (unsigned h = 0; h < 2; h++) {
        for (int64_t i = k->begin[h]; i < k->finish[h]; i++) {
            const int64_t z = k->layout->circle.z[h] + (h ? -i : i);
            for (size_t y = k->y0; y < k->y1; y++) {
                float *line = (float *)((uintptr_t)out + ((size_t)z * stride_z + y * stride_y + k->x0) * 4);
                float *sums = s->sums[y - k->y0][0][h] + (i - k->chunk);
                if (ahead) __builtin_prefetch((void *)((uintptr_t)line + (uintptr_t)ahead), 1, 2);
                for (size_t x = 0; x < k->x1 - k->x0; x++) {
                    if (store)
                        line[x] = sums[x * 2 * CHUNK];
                    else
                        sums[x * 2 * CHUNK] = line[x];
                }
            }
        }
    }
}

/* Bytes from a tile's lines of voxels to those of the brick's next tile, which lie in as many pages as there are lines:
 * they are prefetched while this tile is computed. 0: last tile. */
static ptrdiff_t tile_ahead(const work *k, const qb__bp_cone_brick *b, size_t stride_y) {
    if (k->x1 < b->x1) return TILE_X * (ptrdiff_t)sizeof(float);
    return k->y1 < b->y1 ? (TILE_Y * (ptrdiff_t)stride_y - (ptrdiff_t)(k->x0 - b->x0)) * (ptrdiff_t)sizeof(float) : 0;
}

/* The voxels of half h in planes z0 <= z < z1; the plane of symmetry belongs to the first half. */
static void half_range(const qb__cone_circle *c, unsigned h, size_t z0, size_t z1, int64_t *begin, int64_t *end) {
    *begin = h ? c->z[h] - (int64_t)z1 + 1 : (int64_t)z0 - c->z[h];
    *end = h ? c->z[h] - (int64_t)z0 + 1 : (int64_t)z1 - c->z[h];
    const int64_t least = h && c->z[0] == c->z[1] ? 1 : 0;
    if (*begin < least) *begin = least;
    if (h >= c->halves || *end < *begin) *begin = *end = 0;
}

/* The part of chunk k->chunk that the brick needs; false if there is none. */
static bool chunk_range(work *k, const qb__bp_cone_brick *b) {
    int64_t first = CHUNK, end = 0;
    for (unsigned h = 0; h < 2; h++) {
        int64_t begin, finish;
        half_range(&k->layout->circle, h, b->z0, b->z1, &begin, &finish);
        if (begin < k->chunk) begin = k->chunk;
        if (finish > k->chunk + CHUNK) finish = k->chunk + CHUNK;
        k->wanted[h] = begin < finish;
        k->begin[h] = k->wanted[h] ? begin : 0;
        k->finish[h] = k->wanted[h] ? finish : 0;
        if (!k->wanted[h]) continue;
        if (begin - k->chunk < first) first = begin - k->chunk;
        if (finish - k->chunk > end) end = finish - k->chunk;
    }
    k->first = (int)(first / WIDTH);
    k->end = (int)((end + WIDTH - 1) / WIDTH);
    return k->wanted[0] || k->wanted[1];
}

static void circular_run(const qb__bp_cone_problem *p, size_t first, size_t end, const void *packed,
                         qb__bp_cone_window window, qb__bp_cone_brick b, float *out, size_t stride_z, size_t stride_y,
                         bool accumulate, void *memory) {
    layout l;
    if (!layout_of(p, window, &l)) return;
    work k = {.problem = p, .layout = &l, .scratch = memory};
    k.scratch->cells = profile_cells(&l) / 16 * 16;
    for (k.chunk = 0; k.chunk < (int64_t)p->nz; k.chunk += CHUNK) {
        if (!chunk_range(&k, &b)) continue;
        for (k.y0 = b.y0; k.y0 < b.y1; k.y0 = k.y1) {
            k.y1 = b.y1 - k.y0 < TILE_Y ? b.y1 : k.y0 + TILE_Y;
            for (k.x0 = b.x0; k.x0 < b.x1; k.x0 = k.x1) {
                k.x1 = b.x1 - k.x0 < TILE_X ? b.x1 : k.x0 + TILE_X;
                memset(k.scratch->sums, 0, sizeof k.scratch->sums);
                if (accumulate) exchange(&k, out, stride_z, stride_y, tile_ahead(&k, &b, stride_y), false);
                add_views(&k, first, end, packed);
                exchange(&k, out, stride_z, stride_y, 0, true);
            }
        }
    }
}

#define CIRCULAR_VARIANT(name, needed, listed_speed)                                                                   \
    {                                                                                                                  \
        .head = {.id = name,                                                                                           \
                 .operation = QB__BP_CONE,                                                                             \
                 .features = needed,                                                                                   \
                 .accuracy = QB_ACCURACY_HIGH,                                                                         \
                 .speed = listed_speed,                                                                                \
                 .unusable = circular_unusable},                                                                       \
        .brick = {2 * TILE_X, 2 * TILE_Y, 0}, .layers = circular_layers, .view_bytes = circular_view_bytes,            \
        .pack = circular_pack, .scratch_bytes = circular_scratch_bytes, .run = circular_run                            \
    }
