/* SPDX-License-Identifier: MIT */
/* Part of bp_cone_circular.h: the inner loop, which blends two columns into a profile and reads it. */
/* How a blended profile is read: the start position of each vector of the chunk. */
typedef struct reading {
    _Alignas(64) int32_t cell[VECTORS];
    _Alignas(64) float rest[VECTORS];
    const float *cells[2];
} reading;

INLINE void blend(const float *left, const float *right, const float weight[2], int count, float *out) {
    const vector a = vector_set1(weight[0]), b = vector_set1(weight[1]);
#pragma GCC unroll 4
    for (int i = 0; i < count; i += WIDTH) {
        vector sum = vector_mul(a, vector_load(left + i));
        vector_store(out + i, vector_fma(b, vector_load(right + i), sum));
    }
}

INLINE bool is_wide(const entry *e) { return (double)e->slope > NARROW; }

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

INLINE void prepare(const work *k, const entry *e, unsigned which, unsigned first_half, unsigned end_half, reading *r) {
    for (int j = 0; j < VECTORS; j++) {
        float place = e->rest + (float)(WIDTH * j) * e->slope, below = floorf(place);
        r->cell[j] = e->cell + (int32_t)below;
        r->rest[j] = place - below;
    }
    int begin, end;
    cells_read(k, e, r, &begin, &end);
    for (unsigned h = first_half; h < end_half; h++) {
        float *out = k->scratch->profiles + (2 * which + h) * k->scratch->cells;
        const float *left = e->left + (h == 1 && k->layout->held[0] ? k->layout->profile : 0) + begin;
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

/* Add one vector of each wanted half. */
INLINE void add_vector(const reading *r, int j, vector step, unsigned first_half, unsigned end_half, vector *sums) {
    vector rest;
    const places at = split(vector_add(step, vector_set1(r->rest[j])), &rest);
    const vector other = vector_sub(vector_set1(1.0f), rest);
    for (unsigned h = first_half; h < end_half; h++)
        sums[h * VECTORS] = sum_narrow(r->cells[h] + r->cell[j], at, rest, other, sums[h * VECTORS]);
}

/* Positions too far apart for registers are read one by one; both ends of the profile have zeros. */
static void add_wide(const entry *e, const reading *r, int last_cell, unsigned first_half, unsigned end_half,
                     float *sums) {
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

INLINE void add_narrow(const entry *e, const reading *r, unsigned first_half, unsigned end_half, vector *sums) {
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
        for (int j = 0; j < VECTORS; j++) sums[h * VECTORS + j] = vector_load(from + h * CHUNK + j * WIDTH);
}

INLINE void store_sums(const vector *sums, unsigned first_half, unsigned end_half, float *to) {
    for (unsigned h = first_half; h < end_half; h++)
#pragma GCC unroll 16
        for (int j = 0; j < VECTORS; j++) vector_store(to + h * CHUNK + j * WIDTH, sums[h * VECTORS + j]);
}

/* Add all views of a table to one line of voxels. The next view is blended before this one is read, so that its stores
 * have reached the cache before the unaligned reads. */
INLINE void add_column(const work *k, const entry *table, unsigned views, unsigned first_half, unsigned end_half,
                       float *memory) {
    if (views == 0) return;
    reading r[2];
    vector sums[2 * VECTORS];
    load_sums(memory, first_half, end_half, sums);
    prepare(k, table, 0, first_half, end_half, r);
    for (unsigned v = 0; v < views; v++) {
        if (v + 1 < views) prepare(k, table + v + 1, (v + 1) & 1, first_half, end_half, &r[(v + 1) & 1]);
        if (__builtin_expect(is_wide(table + v), 0)) {
            store_sums(sums, first_half, end_half, memory);
            add_wide(table + v, &r[v & 1], (int)k->layout->profile - 2, first_half, end_half, memory);
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
