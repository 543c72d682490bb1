/* SPDX-License-Identifier: MIT */
/* Up to four neighbouring voxels at a time. Their footprints overlap, so the errors of a view are loaded and stored
 * once for all of them. What a voxel's step does to the sums of the next ones is subtracted by the products of their
 * columns, so that the steps are those of one voxel after another. */

enum { TOGETHER = 4, PAIRS = TOGETHER * (TOGETHER - 1) / 2 };

/* Columns of A of up to four voxels in a window of `width` columns of the detector: tap[((chunk * 4 + voxel) * width +
 * k) * 16 + view in the chunk of 16] belongs to first[view] + k. Voxels that are missing have entries of zero. */
typedef struct block {
    int32_t *first;
    float *tap;
} block;

typedef struct blocks {
    qb__icd_column column[TOGETHER];
    block of[2];
    int width;
} blocks;

static blocks blocks_in(const qb__footprints *s, void *scratch) {
    blocks b = {.width = (int)qb__icd_block_width(s)};
    float *at = scratch;
    for (int i = 0; i < 2; i++) {
        b.of[i].tap = at;
        at += TOGETHER * (size_t)b.width * s->stride;
    }
    for (int i = 0; i < TOGETHER; i++) {
        b.column[i].tap = at;
        at += s->taps * s->stride;
    }
    int32_t *first = (int32_t *)(void *)at;
    for (int i = 0; i < 2; i++, first += s->stride) b.of[i].first = first;
    for (int i = 0; i < TOGETHER; i++, first += s->stride) b.column[i].first = first;
    return b;
}

/* How many of the next pixels are each other's neighbours. */
static size_t together(const qb__icd_problem *p, const uint32_t *pixels, size_t count) {
    const ptrdiff_t row = (ptrdiff_t)p->nx + 2;
    size_t n = 1;
    for (; n < TOGETHER && n < count; n++)
        for (size_t i = 0; i < n; i++) {
            const ptrdiff_t far =
                pixels[n] > pixels[i] ? (ptrdiff_t)(pixels[n] - pixels[i]) : (ptrdiff_t)(pixels[i] - pixels[n]);
            if (far != 1 && (far < row - 1 || far > row + 1)) return n;
        }
    return n;
}

/* Put entries of 16 views, `by` columns after the start of the window. Returns the entries that have no place. */
LANES_INLINE bits shift_taps(const qb__footprints *s, const int taps, const int width, const float *from, bits by,
                             float *to) {
    bits lost = {0};
    for (int k = 0; k < width; k++) {
        bits put = {0};
        for (int t = 0; t < taps && t <= k; t++)
            put |= bits_same(by, (bits){0} + (k - t)) & (bits)lanes_from(from + (size_t)t * s->stride);
        lanes_put(to + k * LANES, (lanes)put);
    }
    for (int t = 0; t < taps; t++)
        lost |=
            bits_less((bits){0} + (width - 1 - t), by) & (bits)lanes_from(from + (size_t)t * s->stride) & 0x7fffffff;
    return lost;
}

/* Put the columns of n voxels into a window. False: they are too far from each other. */
LANES_INLINE bool put_together(const qb__footprints *s, const int taps, const int width, const qb__icd_column *column,
                               size_t n, const block *b) {
    const bits last = (bits){0} + (int32_t)(s->columns + 2 * s->taps) - width;
    const bits nothing = (bits)lanes_all(2e-7f * s->area); /* entries outside the footprint are zero but for rounding */
    bits lost = {0};
    for (size_t view = 0; view < s->stride; view += LANES) {
        float *to = b->tap + view * (size_t)(TOGETHER * width);
        bits first = last;
        for (size_t j = 0; j < n; j++) {
            const bits at = bits_from(column[j].first + view), less = bits_less(at, first);
            first = (less & at) | (~less & first);
        }
        for (size_t j = 0; j < n; j++)
            lost |= bits_less(nothing,
                              shift_taps(s, taps, width, column[j].tap + view,
                                         bits_from(column[j].first + view) - first, to + j * (size_t)width * LANES));
        memset(to + n * (size_t)width * LANES, 0, (TOGETHER - n) * (size_t)width * LANES * sizeof *to);
        bits_put(b->first + view, first);
    }
    return !lanes_any(lost);
}

/* Sums over the columns of a block, and the products of two of its columns. */
typedef struct block_sums {
    lanes of[TOGETHER], pair[PAIRS]; /* pairs 01, 02, 12, 03, 13, 23 */
} block_sums;

/* Products of columns without weights are the same in all slices. */
LANES_INLINE void multiply_pairs(const qb__footprints *s, const int width, const block *b, block_sums *sums) {
    lanes sum[PAIRS] = {{0}};
    for (size_t view = 0; view < s->stride; view += LANES)
        for (int k = 0; k < width; k++) {
            const float *tap = b->tap + view * (size_t)(TOGETHER * width) + k * LANES;
            for (int j = 1, pair = 0; j < TOGETHER; j++)
                for (int i = 0; i < j; i++, pair++)
                    sum[pair] += lanes_at(tap + i * width * LANES) * lanes_at(tap + j * width * LANES);
        }
    for (int pair = 0; pair < PAIRS; pair++) sums->pair[pair] = lanes_all(lanes_sum(sum[pair]));
}

/* e -= A step of a block, in one view. */
LANES_INLINE void step_back(const int width, const block *b, const lanes *step, size_t view, float *row) {
    const float *tap = b->tap + (view / LANES * TOGETHER * (size_t)width) * LANES + view % LANES;
    float *to = row + (size_t)b->first[view] * LANES;
    for (int k = 0; k < width; k++) {
        lanes e = lanes_at(to + k * LANES);
        for (int j = 0; j < TOGETHER; j++) e -= tap[(j * width + k) * LANES] * step[j];
        lanes_put(to + k * LANES, e);
    }
}

/* Sums A w e of a block, after e -= A step of the block before: what was just written is read from the nearest cache.
 * With weights also sums A w A of pairs. */
LANES_INLINE void dot_block(const qb__icd_problem *p, const int width, const float *weight, float *error,
                            const block *b, const block *late, const lanes *step, block_sums *sums) {
    const qb__footprints *s = &p->footprints;
    const size_t row = (s->columns + 2 * s->taps) * LANES;
    lanes sum[TOGETHER] = {{0}}, pair[PAIRS] = {{0}};
    for (size_t view = 0; view < s->views; view++) {
        float *e = error + view * row;
        if (late) step_back(width, late, step, view, e);
        const float *tap = b->tap + (view / LANES * TOGETHER * (size_t)width) * LANES + view % LANES;
        const size_t at = (size_t)b->first[view] * LANES;
        for (int k = 0; k < width; k++) {
            const lanes value = lanes_at(e + at + k * LANES);
            const lanes w = weight ? lanes_at(weight + view * row + at + k * LANES) : value;
            for (int j = 0, n = 0; j < TOGETHER; j++) {
                const lanes weighed = tap[(j * width + k) * LANES] * w;
                sum[j] += weight ? weighed * value : weighed;
                for (int i = 0; weight && i < j; i++, n++) pair[n] += tap[(i * width + k) * LANES] * weighed;
            }
        }
    }
    for (int j = 0; j < TOGETHER; j++) sums->of[j] = sum[j];
    for (int n = 0; weight && n < PAIRS; n++) sums->pair[n] = pair[n];
}

/* The usual widths are compile-time constants. */
#define BLOCK_WIDTHS(call)                                                                                             \
    switch (width) {                                                                                                   \
    case 4: call(4); break;                                                                                            \
    case 5: call(5); break;                                                                                            \
    case 7: call(7); break;                                                                                            \
    default: call(width);                                                                                              \
    }

LANES_INLINE void dot_together(const qb__icd_problem *p, const int width, const float *weight, float *error,
                               const block *b, const block *late, const lanes *step, block_sums *sums) {
#define DOT(n)                                                                                                         \
    weight ? dot_block(p, n, weight, error, b, late, step, sums) : dot_block(p, n, NULL, error, b, late, step, sums)
    BLOCK_WIDTHS(DOT)
#undef DOT
}

static void subtract_together(const qb__icd_problem *p, const int width, const block *b, const lanes *step,
                              float *lines) {
    const size_t row = (p->footprints.columns + 2 * p->footprints.taps) * LANES;
#define STEP(n)                                                                                                        \
    for (size_t view = 0; view < p->footprints.views; view++) step_back(n, b, step, view, lines + view * row)
    BLOCK_WIDTHS(STEP)
#undef STEP
}

static bool put_columns(const qb__footprints *s, int width, const qb__icd_column *column, size_t n, const block *b) {
    if (s->taps == 3 && width == 4) return put_together(s, 3, 4, column, n, b);
    return put_together(s, (int)s->taps, width, column, n, b);
}

/* The columns of the next pixels in a window; returns how many. Voxels whose footprints are too far from each other
 * come one by one: a column alone has always room. */
static size_t fetch_together(const qb__icd_problem *p, const uint32_t *pixels, size_t n, const blocks *all,
                             const block *b) {
    const qb__footprints *s = &p->footprints;
    for (size_t i = 0; i < n; i++) p->fetch(p, pixels[i], &all->column[i]);
    if (put_columns(s, all->width, all->column, n, b)) return n;
    put_columns(s, all->width, all->column, 1, b);
    return 1;
}
