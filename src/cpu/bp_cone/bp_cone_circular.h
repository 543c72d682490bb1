/* SPDX-License-Identifier: MIT */
/* bp_cone_circular in vectors of WIDTH voxels along z. For a voxel column and a view: blend the two
 * detector columns on either side, weights of the distance included, into one profile, once; then
 * read the profile at evenly spaced places, WIDTH of which lie within 2 WIDTH pixels, so that
 * permutes of two registers fetch both taps. The two halves of a mirrored problem share the places.
 * CHUNK voxels of a half at a time stay in registers while views pass by.
 *
 * A block holds, for columns -1 .. columns, one profile a half: LEAD zeros, the pixels j0 .. j1 of
 * the half, zeros. The including file supplies
 *   WIDTH, vector, vector_...()   the arithmetic
 *   places, split()               r -> floor(r), and in *rest what r exceeds it by
 *   taps()                        (cells, floor) -> pixels at floor and floor + 1 */
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
    BLOCK = 8, /* views: their two columns of a pixel fit the first-level cache */
    ROWS_A_VIEW = TILE_Y / BLOCK, /* of voxels, while which one view is fetched */
    LEAD = 32,
    TAIL = 48,
    NARROW_CELLS = 320 /* CHUNK places less than 2 apart, and two vectors */
};

/* Places further apart do not fit two registers. */
#define NARROW (WIDTH > 1 ? (2 * WIDTH - 3.1) / (WIDTH - 0.999999) : 1e30)

typedef struct layout {
    qb__cone_circle circle;
    bool held[2];   /* the halves of which the window has rows */
    int64_t j0, j1; /* profile pixels held, of either half */
    size_t profile; /* floats */
    size_t column;  /* floats, of the held halves */
} layout;

/* Rows r0 <= row < r1 of half h as profile pixels; a mirrored profile begins at most one pixel
 * before the plane of symmetry. */
static bool held_pixels(const layout *l, unsigned h, qb__bp_cone_window w, int64_t *j0,
                        int64_t *j1) {
    const int64_t r0 = (int64_t)w.r0, r1 = (int64_t)w.r1, row = l->circle.row[h];
    *j0 = l->circle.row_step[h] > 0 ? r0 - row : row - r1 + 1;
    *j1 = l->circle.row_step[h] > 0 ? r1 - row : row - r0 + 1;
    if (l->circle.mirrored && *j0 < -1) *j0 = -1;
    return *j0 < *j1;
}

static bool layout_of(const qb__bp_cone_problem *p, qb__bp_cone_window window, layout *l) {
    *l = (layout){.j0 = INT64_MAX, .j1 = INT64_MIN};
    if (!qb__cone_circle_of(p, &l->circle)) return false;
    unsigned held = 0;
    for (unsigned h = 0; h < l->circle.halves; h++) {
        int64_t j0, j1;
        l->held[h] = held_pixels(l, h, window, &j0, &j1);
        if (!l->held[h]) continue;
        held++;
        l->j0 = j0 < l->j0 ? j0 : l->j0;
        l->j1 = j1 > l->j1 ? j1 : l->j1;
    }
    if (held == 0) l->j0 = l->j1 = 0;
    l->profile = ((size_t)(l->j1 - l->j0) + LEAD + TAIL + 15) / 16 * 16;
    l->column = l->profile * held;
    return true;
}

static size_t layout_bytes(const qb__bp_cone_problem *p, const layout *l) {
    size_t bytes;
    if (__builtin_mul_overflow(p->columns + 2, l->column * sizeof(float), &bytes)) return 0;
    return bytes ? bytes : 64;
}

static size_t circular_view_bytes(const qb__bp_cone_problem *p, qb__bp_cone_window window) {
    layout l;
    return layout_of(p, window, &l) ? layout_bytes(p, &l) : 0;
}

/* Offsets within a block are 32 bits wide. */
static const char *circular_unusable(const struct qb__device_info *device, const void *of,
                                     const int *values) {
    const qb__bp_cone_problem *p = of;
    const bool huge = p->columns > INT32_MAX / 2 || p->rows > INT32_MAX / 2;
    qb__cone_circle circle;
    (void)device, (void)values;
    if (!huge && !qb__cone_circle_of(p, &circle))
        return "needs columns of the detector along the axis in every view, as of a circle";
    const size_t bytes = huge ? 0 : circular_view_bytes(p, (qb__bp_cone_window){0, p->rows});
    return bytes != 0 && bytes / sizeof(float) < INT32_MAX
               ? NULL
               : "a view is too large for 32-bit indices";
}

/* A chunk costs almost the same however few of its voxels are wanted. */
static qb__layers circular_layers(const qb__bp_cone_problem *p) {
    qb__cone_circle c;
    qb__layers layers = {.thickness = CHUNK};
    if (qb__cone_circle_of(p, &c) && c.mirrored) {
        layers.above = (size_t)c.z[0];
        layers.below = (size_t)(c.z[1] + 1);
    }
    return layers;
}

/* One row of pixels: pixel j of half h in every column. */
static void pack_row(const qb__bp_cone_problem *p, const layout *l, const float *row,
                     float *profile) {
    for (size_t u = 0; u < p->columns; u++) profile[u * l->column] = row[u];
}

static void pack_half(const qb__bp_cone_problem *p, const layout *l, unsigned h,
                      qb__bp_cone_window window, const float *image, size_t row_stride,
                      float *profiles) {
    enum { TOGETHER = 16 }; /* columns, so that their lines stay in the first-level cache */
    int64_t j0, j1;
    held_pixels(l, h, window, &j0, &j1);
    for (size_t u = 0; u < p->columns; u += TOGETHER) {
        qb__bp_cone_problem part = *p;
        part.columns = p->columns - u < TOGETHER ? p->columns - u : TOGETHER;
        float *column = profiles + (u + 1) * l->column + LEAD - l->j0;
        for (int64_t j = j0; j < j1; j++) {
            int64_t row = l->circle.row[h] + l->circle.row_step[h] * j - (int64_t)window.r0;
            pack_row(&part, l, image + (size_t)row * row_stride + u, column + j);
        }
    }
}

static void circular_pack(const qb__bp_cone_problem *p, size_t view, qb__bp_cone_window window,
                          const float *image, size_t row_stride, void *block) {
    (void)view;
    layout l;
    if (!layout_of(p, window, &l)) return;
    memset(block, 0, layout_bytes(p, &l));
    float *profiles = block;
    for (unsigned h = 0; h < 2; h++) {
        if (!l.held[h]) continue;
        pack_half(p, &l, h, window, image, row_stride, profiles);
        profiles += l.profile;
    }
}

/* How a column of voxels reads one view. */
typedef struct entry {
    const float *left; /* the profile of the first held half in the column to the left */
    float weight[2];   /* of the left and the right column, times 1 / w^2 */
    float rest, slope; /* place of voxel i of the chunk: cell + rest + i slope */
    int32_t cell;
    int16_t first, end; /* vectors of the chunk that meet pixels */
} entry;

typedef struct scratch {
    _Alignas(64) float sums[TILE_Y][TILE_X][2][CHUNK];
    entry table[TILE_X][BLOCK];
    unsigned entries[TILE_X];
    size_t cells; /* of each of the four profiles below */
    _Alignas(64) float profiles[];
} scratch;

static size_t profile_cells(const layout *l) {
    size_t all = l->profile + 2 * 16;
    return all > NARROW_CELLS ? all : NARROW_CELLS;
}

static size_t circular_scratch_bytes(const qb__bp_cone_problem *p) {
    layout l;
    if (!layout_of(p, (qb__bp_cone_window){0, p->rows}, &l)) return 64;
    return (sizeof(scratch) + 4 * profile_cells(&l) * sizeof(float) + 63) / 64 * 64;
}

/* A run of voxels of one chunk, and what reads them. */
typedef struct work {
    const qb__bp_cone_problem *problem;
    const layout *layout;
    size_t x0, x1, y0, y1;
    int64_t chunk;               /* the first voxel of the chunk */
    int first, end;              /* vectors of the chunk that are wanted */
    bool wanted[2];              /* halves */
    int64_t begin[2], finish[2]; /* voxels wanted of each half */
    scratch *scratch;
} work;

/* The coordinates of TILE_X columns of voxels: u, the inverse of w, and the place of the chunk's
 * first voxel in the profile. */
typedef struct places_of_row {
    double u[TILE_X], inverse[TILE_X], place[TILE_X], slope[TILE_X];
} places_of_row;

static void find_places(const work *k, const double *m, size_t y, places_of_row *s) {
    const layout *l = k->layout;
    const double ub = m[1] * (double)y + m[3], wb = m[9] * (double)y + m[11];
    const double vb = m[5] * (double)y + m[7], x0 = (double)k->x0;
    const double rise = fabs(m[6]), chunk = (double)k->chunk, begin = LEAD - (double)l->j0;
    const double along = chunk + l->circle.lead, out = begin - l->circle.shift;
    const double sign = l->circle.falling ? -1 : 1;
    const double origin = begin + (l->circle.falling ? (double)(k->problem->rows - 1) : 0);
    const double vx = m[4] * sign, v0 = vb * sign;
    const bool mirrored = l->circle.mirrored;
    for (int i = 0; i < TILE_X; i++) {
        double x = x0 + i, inverse = 1 / (m[8] * x + wb);
        s->inverse[i] = inverse;
        s->u[i] = (m[0] * x + ub) * inverse;
        s->slope[i] = rise * inverse;
        s->place[i] =
            mirrored ? s->slope[i] * along + out : (vx * x + v0 + rise * chunk) * inverse + origin;
    }
}

/* Vectors of the chunk whose places fall on pixels. */
static void find_vectors(const work *k, double place, double slope, entry *e) {
    const double a = LEAD - 1, b = LEAD + (double)(k->layout->j1 - k->layout->j0);
    const double step = WIDTH * slope;
    double first = floor((a - place - (WIDTH - 1) * slope) / step) + 1;
    double end = ceil((b - place) / step);
    first = first > k->first ? first : k->first;
    end = end < k->end ? end : k->end;
    if (!(first < end)) first = end = 0;
    e->first = (int16_t)first;
    e->end = (int16_t)end;
}

static void fill_table(const work *k, size_t y, size_t first, size_t end, const float *packed,
                       size_t block) {
    scratch *s = k->scratch;
    const double columns = (double)k->problem->columns;
    const size_t width = k->x1 - k->x0;
    memset(s->entries, 0, sizeof s->entries);
    for (size_t v = first; v < end; v++, packed += block) {
        places_of_row row;
        find_places(k, k->problem->matrix[v], y, &row);
        for (size_t x = 0; x < width; x++) {
            const double u = row.u[x], left = floor(u), cell = floor(row.place[x]);
            entry *e = &s->table[x][s->entries[x]];
            if (!(u > -1 && u < columns)) continue;
            find_vectors(k, row.place[x], row.slope[x], e);
            if (e->first == e->end) continue;
            s->entries[x]++;
            const double weight = row.inverse[x] * row.inverse[x];
            e->left = packed + (size_t)((int64_t)left + 1) * k->layout->column;
            e->weight[0] = (float)((1 - (u - left)) * weight);
            e->weight[1] = (float)((u - left) * weight);
            e->cell = (int32_t)cell;
            e->rest = (float)(row.place[x] - cell);
            e->slope = (float)row.slope[x];
        }
    }
}

/* A blended profile: where each vector of the chunk begins to read it. */
typedef struct reading {
    _Alignas(64) int32_t cell[VECTORS];
    _Alignas(64) float rest[VECTORS];
    const float *cells[2];
} reading;

INLINE void blend(const float *left, const float *right, const float weight[2], int count,
                  float *out) {
    const vector a = vector_set1(weight[0]), b = vector_set1(weight[1]);
#pragma GCC unroll 4
    for (int i = 0; i < count; i += WIDTH) {
        vector sum = vector_mul(a, vector_load(left + i));
        vector_store(out + i, vector_fma(b, vector_load(right + i), sum));
    }
}

INLINE bool is_wide(const entry *e) {
    return (double)e->slope > NARROW;
}

/* The cells that the wanted vectors of an entry read, begin <= cell < end. */
INLINE void cells_read(const work *k, const entry *e, const reading *r, int *begin, int *end) {
    const int last = e->end - 1;
    *begin = r->cell[e->first], *end = r->cell[last] + 2 * WIDTH;
    if (is_wide(e)) {
        const int most = (int)k->layout->profile;
        *end = r->cell[last] + (int)(e->slope * (WIDTH - 1)) + 4;
        if (*begin < 0) *begin = 0;
        if (*begin > most - 16) *begin = most - 16;
        if (*end > most) *end = most;
    }
    *begin = *begin / 16 * 16;
}

INLINE void prepare(const work *k, const entry *e, unsigned which, unsigned first_half,
                    unsigned end_half, reading *r) {
    for (int j = 0; j < VECTORS; j++) {
        float place = e->rest + (float)(WIDTH * j) * e->slope, below = floorf(place);
        r->cell[j] = e->cell + (int32_t)below;
        r->rest[j] = place - below;
    }
    int begin, end;
    cells_read(k, e, r, &begin, &end);
    for (unsigned h = first_half; h < end_half; h++) {
        float *out = k->scratch->profiles + (2 * which + h) * k->scratch->cells;
        const float *left =
            e->left + (h == 1 && k->layout->held[0] ? k->layout->profile : 0) + begin;
        blend(left, left + k->layout->column, e->weight, end - begin, out);
        r->cells[h] = out - begin;
    }
}

INLINE vector sum_narrow(const float *cells, places at, vector rest, vector other, vector sum) {
    vector below, above;
    taps(cells, at, &below, &above);
    sum = vector_fma(other, below, sum);
    return vector_fma(rest, above, sum);
}

/* One vector of each wanted half. */
INLINE void add_vector(const reading *r, int j, vector step, unsigned first_half, unsigned end_half,
                       vector *sums) {
    vector rest;
    const places at = split(vector_add(step, vector_set1(r->rest[j])), &rest);
    const vector other = vector_sub(vector_set1(1.0f), rest);
    for (unsigned h = first_half; h < end_half; h++)
        sums[h * VECTORS] =
            sum_narrow(r->cells[h] + r->cell[j], at, rest, other, sums[h * VECTORS]);
}

/* Places too far apart for registers, one by one; past either end of the profile lie zeros. */
static void add_wide(const entry *e, const reading *r, int last_cell, unsigned first_half,
                     unsigned end_half, float *sums) {
    for (int j = e->first; j < e->end; j++) {
        for (int i = 0; i < WIDTH; i++) {
            float place = (float)i * e->slope + r->rest[j], below = floorf(place);
            float rest = place - below;
            int cell = r->cell[j] + (int)below;
            cell = cell < 0 ? 0 : cell > last_cell ? last_cell : cell;
            for (unsigned h = first_half; h < end_half; h++) {
                const float *c = r->cells[h] + cell;
                float sum = sums[h * CHUNK + j * WIDTH + i] + (1.0f - rest) * c[0];
                sums[h * CHUNK + j * WIDTH + i] = sum + rest * c[1];
            }
        }
    }
}

INLINE void add_narrow(const entry *e, const reading *r, unsigned first_half, unsigned end_half,
                       vector *sums) {
    const vector step = vector_mul(vector_lanes(), vector_set1(e->slope));
    if (e->first == 0 && e->end == VECTORS) {
#pragma GCC unroll 16
        for (int j = 0; j < VECTORS; j++) add_vector(r, j, step, first_half, end_half, sums + j);
    } else {
#pragma GCC unroll 16
        for (int j = 0; j < VECTORS; j++)
            if (j >= e->first && j < e->end) add_vector(r, j, step, first_half, end_half, sums + j);
    }
}

INLINE void load_sums(const float *from, unsigned first_half, unsigned end_half, vector *sums) {
    for (unsigned h = first_half; h < end_half; h++)
#pragma GCC unroll 16
        for (int j = 0; j < VECTORS; j++)
            sums[h * VECTORS + j] = vector_load(from + h * CHUNK + j * WIDTH);
}

INLINE void store_sums(const vector *sums, unsigned first_half, unsigned end_half, float *to) {
    for (unsigned h = first_half; h < end_half; h++)
#pragma GCC unroll 16
        for (int j = 0; j < VECTORS; j++)
            vector_store(to + h * CHUNK + j * WIDTH, sums[h * VECTORS + j]);
}

/* The views of a table, on one column of voxels. The next view is blended before this one is read,
 * so that what was stored has reached the cache when it is read unaligned. */
INLINE void add_column(const work *k, const entry *table, unsigned views, unsigned first_half,
                       unsigned end_half, float *memory) {
    if (views == 0) return;
    reading r[2];
    vector sums[2 * VECTORS];
    load_sums(memory, first_half, end_half, sums);
    prepare(k, table, 0, first_half, end_half, r);
    for (unsigned v = 0; v < views; v++) {
        if (v + 1 < views)
            prepare(k, table + v + 1, (v + 1) & 1, first_half, end_half, &r[(v + 1) & 1]);
        if (__builtin_expect(is_wide(table + v), 0)) {
            store_sums(sums, first_half, end_half, memory);
            add_wide(table + v, &r[v & 1], (int)k->layout->profile - 2, first_half, end_half,
                     memory);
            load_sums(memory, first_half, end_half, sums);
        } else {
            add_narrow(table + v, &r[v & 1], first_half, end_half, sums);
        }
    }
    store_sums(sums, first_half, end_half, memory);
}

static void add_first(const work *k, const entry *table, unsigned views, float *sums) {
    add_column(k, table, views, 0, 1, sums);
}
static void add_second(const work *k, const entry *table, unsigned views, float *sums) {
    add_column(k, table, views, 1, 2, sums);
}
static void add_both(const work *k, const entry *table, unsigned views, float *sums) {
    add_column(k, table, views, 0, 2, sums);
}

/* The cells of one view that a tile will read: of so many columns from the first on, the same
 * lines. */
typedef struct shadow {
    const float *first;
    size_t columns, lines; /* both 0 when nothing */
} shadow;

static shadow shadow_of(const work *k, const double *m, const float *block) {
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
    left = fmax(floor(left), -1), right = fmin(floor(right) + 1, (double)k->problem->columns);
    low = fmax(floor(low), 0), high = fmin(high, (double)l->profile);
    if (!(left <= right && low < high)) return (shadow){.first = block};
    const size_t begin = (size_t)low / 16 * 16;
    return (shadow){block + (size_t)(left + 1) * l->column + begin, (size_t)(right - left) + 1,
                    ((size_t)high - begin + 15) / 16};
}

/* The n-th of `parts` parts of a shadow. */
static void fetch_shadow(const layout *l, const shadow *s, size_t n, size_t parts) {
    const bool both = l->held[0] && l->held[1];
    for (size_t c = n * s->columns / parts; c < (n + 1) * s->columns / parts; c++) {
        const float *column = s->first + c * l->column;
        for (size_t i = 0; i < s->lines; i++) {
            __builtin_prefetch(column + 16 * i, 0, 2);
            if (both) __builtin_prefetch(column + l->profile + 16 * i, 0, 2);
        }
    }
}

/* While the voxels of one row along x take a block of views, one view of the next block is fetched.
 */
static void add_views(const work *k, size_t first, size_t end, const float *packed) {
    scratch *s = k->scratch;
    const size_t block = layout_bytes(k->problem, k->layout) / sizeof(float);
    const size_t width = k->x1 - k->x0;
    const bool up = k->wanted[0] && k->layout->held[0], down = k->wanted[1] && k->layout->held[1];
    if (!up && !down) return;
    for (size_t v = first; v < end; v += BLOCK) {
        const size_t last = end - v < BLOCK ? end : v + BLOCK;
        for (size_t y = k->y0; y < k->y1; y++) {
            shadow next = {.first = packed};
            const size_t part = (y - k->y0) % ROWS_A_VIEW,
                         ahead = v + BLOCK + (y - k->y0) / ROWS_A_VIEW;
            if (ahead < end)
                next = shadow_of(k, k->problem->matrix[ahead], packed + (ahead - first) * block);
            fill_table(k, y, v, last, packed + (v - first) * block, block);
            for (size_t x = 0; x < width; x++) {
                float *sums = s->sums[y - k->y0][x][0];
                fetch_shadow(k->layout, &next, part * width + x, ROWS_A_VIEW * width);
                (up && down ? add_both
                 : up       ? add_first
                            : add_second)(k, s->table[x], s->entries[x], sums);
            }
        }
    }
}

/* Moves the wanted voxels between the volume and the sums, whose voxels along z are neighbours. */
static void exchange(const work *k, float *out, size_t stride_z, size_t stride_y, bool store) {
    scratch *s = k->scratch;
    for (unsigned h = 0; h < 2; h++) {
        for (int64_t i = k->begin[h]; i < k->finish[h]; i++) {
            const int64_t z = k->layout->circle.z[h] + (h ? -i : i);
            for (size_t y = k->y0; y < k->y1; y++) {
                float *line =
                    (float *)((uintptr_t)out + ((size_t)z * stride_z + y * stride_y + k->x0) * 4);
                float *sums = s->sums[y - k->y0][0][h] + (i - k->chunk);
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

/* The voxels of half h that lie in planes z0 <= z < z1; the plane of symmetry is the first half's.
 */
static void half_range(const qb__cone_circle *c, unsigned h, size_t z0, size_t z1, int64_t *begin,
                       int64_t *end) {
    *begin = h ? c->z[h] - (int64_t)z1 + 1 : (int64_t)z0 - c->z[h];
    *end = h ? c->z[h] - (int64_t)z0 + 1 : (int64_t)z1 - c->z[h];
    const int64_t least = h && c->z[0] == c->z[1] ? 1 : 0;
    if (*begin < least) *begin = least;
    if (h >= c->halves || *end < *begin) *begin = *end = 0;
}

/* What of chunk k->chunk the brick wants; false when nothing. */
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
                         qb__bp_cone_window window, qb__bp_cone_brick b, float *out,
                         size_t stride_z, size_t stride_y, bool accumulate, void *memory) {
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
                if (accumulate) exchange(&k, out, stride_z, stride_y, false);
                add_views(&k, first, end, packed);
                exchange(&k, out, stride_z, stride_y, true);
            }
        }
    }
}

#define CIRCULAR_VARIANT(name, needed, listed_speed)                                               \
    {                                                                                              \
        .head = {.id = name,                                                                       \
                 .operation = QB__BP_CONE,                                                         \
                 .features = needed,                                                               \
                 .accuracy = QB_ACCURACY_HIGH,                                                     \
                 .speed = listed_speed,                                                            \
                 .unusable = circular_unusable},                                                   \
        .brick = {2 * TILE_X, 2 * TILE_Y, 0}, .layers = circular_layers,                           \
        .view_bytes = circular_view_bytes, .pack = circular_pack,                                  \
        .scratch_bytes = circular_scratch_bytes, .run = circular_run                               \
    }
