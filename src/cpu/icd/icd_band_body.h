/* SPDX-License-Identifier: MIT */
/* One slice by SuperVoxels: part of icd_body.h. For footprints, lanes are 16 views; for multiplication, four entries of
 * a view are neighbours, as in the buffer. */

/* Entries and their positions. Blocks of 16 views, four entries after four: tap[j * 16 + q * 4] is the first of those
 * of view 4 q + j, the order after transposing within quarters of a register. */
typedef struct band_column {
    float *tap;  /* [block][taps / 4][64] */
    int32_t *at; /* [stride] position in the buffer */
} band_column;

enum { BLOCK = LANES, SET = 4 * LANES };

static void band_columns_in(const qb__icd_bands *b, void *scratch, band_column column[2]) {
    float *at = scratch;
    for (int i = 0; i < 2; i++) {
        column[i].tap = at;
        at += b->taps * b->footprints->stride;
    }
    for (int i = 0; i < 2; i++) column[i].at = (int32_t *)(void *)at + (size_t)i * b->footprints->stride;
}

/* Store four entries of 16 views, view by view. */
LANES_INLINE void band_transpose(const lanes *e, float *tap) {
#define LOW(a, b) __builtin_shufflevector(a, b, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29)
#define HIGH(a, b) __builtin_shufflevector(a, b, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31)
#define FRONT(a, b) __builtin_shufflevector(a, b, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29)
#define BACK(a, b) __builtin_shufflevector(a, b, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31)
    const lanes a = LOW(e[0], e[1]), b = HIGH(e[0], e[1]), c = LOW(e[2], e[3]), d = HIGH(e[2], e[3]);
    lanes_put(tap, FRONT(a, c));
    lanes_put(tap + LANES, BACK(a, c));
    lanes_put(tap + 2 * LANES, FRONT(b, d));
    lanes_put(tap + 3 * LANES, BACK(b, d));
#undef LOW
#undef HIGH
#undef FRONT
#undef BACK
}

/* The same as share_before() minus a half, times the footprint's area. The detector's ends are ignored, because data
 * outside have weight 0. */
LANES_INLINE lanes band_share(lanes t, lanes half, lanes flat, lanes rise, lanes curvature) {
    const lanes size = lanes_least(lanes_size(t), half), over = lanes_above_zero(size - flat);
    const lanes part = size * rise - over * over * curvature;
    return (lanes)((bits)part | ((bits)t & (bits)lanes_all(-0.0f)));
}

/* Footprints of a block, rise and bend times their area; their centre relative to that of the SuperVoxel. */
LANES_INLINE shape band_shape(const qb__icd_bands *b, const qb__icd_band *band, size_t view, float dx, float dy,
                              lanes *middle) {
    const qb__footprints *s = b->footprints;
    *middle = lanes_at(band->at + view) + (lanes_at(b->ax + view) * dx + lanes_at(b->ay + view) * dy);
    return (shape){lanes_at(s->half + view), lanes_at(s->flat + view), lanes_at(b->rise + view),
                   lanes_at(b->curvature + view), lanes_all(s->area)};
}

LANES_INLINE shape band_shape_in_fan(const qb__icd_bands *b, const qb__icd_band *band, size_t view, float dx, float dy,
                                     lanes *middle) {
    const lanes ax = lanes_at(band->ax + view), ay = lanes_at(band->ay + view);
    const lanes wx = lanes_at(band->wx + view), wy = lanes_at(band->wy + view);
    const lanes near = 1.0f / (1.0f + (wx * dx + wy * dy));
    const float radian = (float)b->footprints->per_radian;
    const lanes at = lanes_at(band->at + view), over = ax * dx + ay * dy;
    const lanes plane = (radian > 0 ? over : at + over) * near;
    const lanes steep = radian > 0 ? near * (radian / (1.0f + plane * plane)) : near;
    const lanes c = radian > 0 ? at + radian * lanes_atan(plane) : plane;
    shape is =
        shape_in_fan(lanes_size((ax - plane * wx) * steep), lanes_size((ay - plane * wy) * steep), b->footprints->area);
    is.rise *= is.area;
    is.curvature *= is.area;
    *middle = c;
    return is;
}

/* A block of a voxel's column, for a voxel dx and dy from the centre of its SuperVoxel. */
LANES_INLINE void band_footprints(const qb__icd_bands *b, const qb__icd_band *band, const bool fan, const int taps,
                                  size_t view, float dx, float dy, const band_column *column) {
    const float middle = (float)(b->width / 2);
    lanes c;
    const shape is = fan ? band_shape_in_fan(b, band, view, dx, dy, &c) : band_shape(b, band, view, dx, dy, &c);
    const lanes from =
        lanes_least(lanes_above_zero(c - is.half + (middle + 0.5f)), lanes_all((float)((int)b->width - taps)));
    const bits whole = __builtin_convertvector(from, bits);
    lanes edge = (__builtin_convertvector(whole, lanes) - (middle + 0.5f)) - c;
    lanes before = -0.5f * is.area, entry[4];
    for (int k = 0; k < taps; k++) {
        edge += 1.0f;
        const lanes share = k + 1 < taps ? band_share(edge, is.half, is.flat, is.rise, is.curvature) : 0.5f * is.area;
        entry[k % 4] = share - before;
        before = share;
        if (k % 4 == 3) band_transpose(entry, column->tap + view * (size_t)taps + (size_t)(k / 4) * SET);
    }
    const int32_t width = (int32_t)b->width;
    const bits rows = ((bits){0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15} + (int32_t)view) * width;
    *(bits *)(void *)(column->at + view) = whole + rows;
}

/* Subtract entries times (weight times) step from `to`, for a block. */
LANES_INLINE void band_step(const band_column *late, const int taps, size_t view, quad step, const float *weight,
                            float *to) {
    for (int k = 0; k < taps / 4; k++) {
        const float *tap = late->tap + view * (size_t)taps + (size_t)k * SET;
#pragma GCC unroll 16
        for (int i = 0; i < BLOCK; i++) {
            const size_t at = (size_t)late->at[view + (size_t)i] + 4 * (size_t)k;
            const quad entry = *(const quad *)(const void *)(tap + i % 4 * LANES + i / 4 * 4) * step;
            quad_put(to + at, quad_at(to + at) - (weight ? entry * quad_at(weight + at) : entry));
        }
    }
}

typedef struct band_sums {
    quad of[4];
} band_sums;

/* Add entries (or their squares) times data to `sum`, for a block. */
LANES_INLINE void band_add(const band_column *column, const int taps, size_t view, bool squares, const float *data,
                           band_sums *sum) {
    for (int k = 0; k < taps / 4; k++) {
        const float *tap = column->tap + view * (size_t)taps + (size_t)k * SET;
#pragma GCC unroll 16
        for (int i = 0; i < BLOCK; i++) {
            const quad entry = *(const quad *)(const void *)(tap + i % 4 * LANES + i / 4 * 4);
            sum->of[i % 4] += (squares ? entry * entry : entry) * quad_at(data + column->at[view + (size_t)i] + 4 * k);
        }
    }
}

LANES_INLINE float band_total(const band_sums *sum) {
    const quad all = (sum->of[0] + sum->of[1]) + (sum->of[2] + sum->of[3]);
    return (all[0] + all[2]) + (all[1] + all[3]);
}

/* Offset of a pixel from the centre of the SuperVoxel. */
LANES_INLINE void band_place(const qb__icd_problem *p, const qb__icd_band *band, uint32_t pixel, float *dx, float *dy) {
    const size_t row = p->nx + 2;
    *dx = (float)((double)(pixel % row) - 1 - band->x);
    *dy = (float)((double)(pixel / row) - 1 - band->y);
}

/* Compute the footprints and their sum with the error. Before that, block by block, apply the previous voxel's step: so
 * a cache line that both voxels touch is loaded only once. */
LANES_INLINE float band_dot(const qb__icd_bands *b, const qb__icd_band *band, const bool fan, const int taps, float dx,
                            float dy, const band_column *column, const band_column *late, float step) {
    band_sums sum = {{{0}}};
    const quad steps = {step, step, step, step};
    for (size_t view = 0; view < b->footprints->stride; view += BLOCK) {
        band_footprints(b, band, fan, taps, view, dx, dy, column);
        if (late) band_step(late, taps, view, steps, band->weight, band->error);
        band_add(column, taps, view, false, band->error, &sum);
    }
    return band_total(&sum);
}

/* The usual number of entries is a compile-time constant. */
LANES_INLINE float band_dot_any(const qb__icd_bands *b, const qb__icd_band *band, float dx, float dy,
                                const band_column *column, const band_column *late, float step) {
    if (band->wx && b->taps == 4) return band_dot(b, band, true, 4, dx, dy, column, late, step);
    if (band->wx) return band_dot(b, band, true, (int)b->taps, dx, dy, column, late, step);
    if (b->taps == 4)
        return late ? band_dot(b, band, false, 4, dx, dy, column, late, step)
                    : band_dot(b, band, false, 4, dx, dy, column, NULL, 0);
    return band_dot(b, band, false, (int)b->taps, dx, dy, column, late, step);
}

typedef struct band_pull {
    float slope, curve;
} band_pull;

/* The prior: one neighbour per lane, then the image toward which voxels are pulled; unused lanes have distance and
 * weight 0. */
LANES_INLINE band_pull band_pull_of(const qb__icd_problem *p, const qb__icd_slice *slice, const around *near,
                                    const surrogate *b, uint32_t pixel) {
    enum { TOWARD = 8 };
    const float *image = slice->x, x = image[pixel];
    _Alignas(64) float other[LANES], weight[LANES] = {0};
    for (int i = 0; i < LANES; i++) other[i] = x;
    for (int i = 0; i < 8; i++) {
        const size_t at = (size_t)((ptrdiff_t)pixel + near->step[i]);
        other[i] = image[at];
        weight[i] = p->inside[at] ? near->b[i] : 0;
    }
    if (slice->toward) {
        other[TOWARD] = slice->toward[pixel];
        weight[TOWARD] = slice->toward_b;
    }
    const lanes d = x - lanes_at(other), c = lanes_at(weight) * curvature(b, d);
    return (band_pull){lanes_sum(c * d), lanes_sum(c)};
}

static bool band_asleep(const float *image, const around *near, uint32_t pixel) {
    if (image[pixel] != 0) return false;
    for (int i = 0; i < 8; i++)
        if (image[(ptrdiff_t)pixel + near->step[i]] != 0) return false;
    return true;
}

static void band_update(const qb__icd_problem *p, const qb__icd_bands *b, const qb__icd_band *band,
                        const qb__icd_slice *slice, const uint32_t *pixels, size_t count, bool skip,
                        qb__icd_band_moved *moved, void *scratch) {
    const surrogate bent = surrogate_with(&p->prior);
    const around near = around_of(p);
    band_column column[2];
    band_columns_in(b, scratch, column);
    const band_column *late = NULL;
    float step = 0;
    int hand = 0;
    for (size_t i = 0; i < count; i++) {
        const uint32_t pixel = pixels[i];
        const float x = slice->x[pixel], curve = slice->curve[pixel];
        if (skip && band_asleep(slice->x, &near, pixel)) continue;
        moved->updates++;
        if (!(curve > 0)) continue;
        float dx, dy;
        band_place(p, band, pixel, &dx, &dy);
        const band_pull prior = band_pull_of(p, slice, &near, &bent, pixel);
        const float slope = band_dot_any(b, band, dx, dy, &column[hand], late, step);
        float next = x + (slope - prior.slope) / (curve + prior.curve);
        if (p->positive && !(next > 0)) next = 0;
        slice->x[pixel] = next;
        step = next - x;
        moved->change += fabs((double)step);
        late = step != 0 ? &column[hand] : NULL;
        hand ^= late != NULL;
    }
    const quad steps = {step, step, step, step};
    for (size_t view = 0; late && view < b->footprints->stride; view += BLOCK)
        band_step(late, (int)b->taps, view, steps, band->weight, band->error);
}

/* ---- start and end of a descent ---- */

LANES_INLINE float band_sum(const qb__icd_problem *p, const qb__icd_bands *b, const qb__icd_band *band, uint32_t pixel,
                            bool squares, const float *data, const band_column *column) {
    band_sums sum = {{{0}}};
    float dx, dy;
    band_place(p, band, pixel, &dx, &dy);
    for (size_t view = 0; view < b->footprints->stride; view += BLOCK) {
        band_footprints(b, band, band->wx != NULL, (int)b->taps, view, dx, dy, column);
        band_add(column, (int)b->taps, view, squares, data, &sum);
    }
    return band_total(&sum);
}

static void band_back(const qb__icd_problem *p, const qb__icd_bands *b, const qb__icd_band *band,
                      const qb__icd_slice *slice, const uint32_t *pixels, size_t count, void *scratch) {
    band_column column[2];
    band_columns_in(b, scratch, column);
    for (size_t i = 0; i < count; i++)
        slice->x[pixels[i]] = band_sum(p, b, band, pixels[i], false, band->error, column);
}

static void band_curve(const qb__icd_problem *p, const qb__icd_bands *b, const qb__icd_band *band,
                       const qb__icd_slice *slice, const uint32_t *pixels, size_t count, void *scratch) {
    band_column column[2];
    band_columns_in(b, scratch, column);
    for (size_t i = 0; i < count; i++)
        slice->curve[pixels[i]] = band_sum(p, b, band, pixels[i], true, band->weight, column);
}

static void band_subtract(const qb__icd_problem *p, const qb__icd_bands *b, const qb__icd_band *band,
                          const qb__icd_slice *slice, const uint32_t *pixels, size_t count, void *scratch) {
    band_column column[2];
    band_columns_in(b, scratch, column);
    for (size_t i = 0; i < count; i++) {
        const float x = slice->x[pixels[i]];
        const quad step = {x, x, x, x};
        float dx, dy;
        if (x == 0) continue;
        band_place(p, band, pixels[i], &dx, &dy);
        for (size_t view = 0; view < b->footprints->stride; view += BLOCK) {
            band_footprints(b, band, band->wx != NULL, (int)b->taps, view, dx, dy, column);
            band_step(column, (int)b->taps, view, step, NULL, band->error);
        }
    }
}

/* Cost of the image toward which voxels are pulled, 16 pixels at a time. */
static double band_toward(const qb__icd_slice *slice, const surrogate *b, const surrogate *offset,
                          const uint32_t *pixels, size_t count) {
    double sum = 0;
    for (size_t first = 0; first < count; first += LANES) {
        _Alignas(64) float far[LANES] = {0}, weight[LANES] = {0};
        for (size_t i = 0; i < LANES && first + i < count; i++) {
            far[i] = slice->x[pixels[first + i]] - slice->toward[pixels[first + i]];
            weight[i] = slice->toward_b;
        }
        const lanes d = lanes_at(far);
        sum += (double)lanes_sum(lanes_at(weight) * rho(b, offset, &d));
    }
    return sum;
}

/* Cost of the prior: four pairs of each of four pixels at a time. */
static double band_prior(const qb__icd_problem *p, const qb__icd_slice *slice, const uint32_t *pixels, size_t count) {
    const surrogate b = surrogate_with(&p->prior), offset = offset_of(&p->prior, &b);
    const around near = around_of(p);
    const float *x = slice->x;
    double sum = slice->toward ? band_toward(slice, &b, &offset, pixels, count) : 0;
    for (size_t first = 0; first < count; first += 4) {
        _Alignas(64) float far[LANES] = {0}, weight[LANES] = {0};
        for (size_t i = first; i < count && i < first + 4; i++)
            for (size_t n = 0; n < 4; n++) {
                const size_t other = (size_t)((ptrdiff_t)pixels[i] + near.step[n]), at = (i - first) * 4 + n;
                far[at] = x[pixels[i]] - x[other];
                weight[at] = p->inside[other] ? near.b[n] : 0;
            }
        const lanes d = lanes_at(far);
        sum += (double)lanes_sum(lanes_at(weight) * rho(&b, &offset, &d));
    }
    return sum;
}
