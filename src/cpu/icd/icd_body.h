/* SPDX-License-Identifier: MIT */
/* The functions of every variant, compiled once for each register width. */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "icd_lanes.h"
#include "icd_rows.h"

enum { LANES = QB__ICD_LANES };

/* ---- footprints ---- */

LANES_INLINE lanes between(lanes v, lanes low, lanes high) { return lanes_largest(lanes_least(v, high), low); }

/* The share of a footprint before t columns from its centre: the integral of a trapezoid. */
LANES_INLINE lanes share_before(lanes t, lanes half, lanes flat, lanes rise, lanes curvature) {
    const lanes size = lanes_least(lanes_size(t), half);
    const lanes over = lanes_largest(size - flat, lanes_all(0.0f));
    const lanes part = size * rise - over * over * curvature;
    return 0.5f + (lanes)((bits)part ^ ((bits)t & INT32_MIN)); /* of the sign of t */
}

/* Start of footprints, in double precision, because single precision has too few digits for fractions of thousands.
 * begin: the first column's edge relative to the centre; middle: centre of the footprint. */
static void place(const qb__footprints *s, size_t view, double ix, double iy, int32_t *first, float *begin,
                  float *middle) {
    const double *ax = s->ax + view, *ay = s->ay + view, *h0 = s->h0 + view;
    const float *half = s->half + view;
    const double least = -(double)s->taps, most = (double)s->columns;
    for (int i = 0; i < LANES; i++) {
        const double h = ax[i] * ix + ay[i] * iy + h0[i];
        const double from = h - (double)half[i] + 0.5;
        double at = from < least ? least : from;
        at = at > most ? most : at;
        /* Round down: conversion truncates towards zero, and the value is above -taps. */
        const int32_t whole = (int32_t)(at - least);
        first[i] = whole;
        begin[i] = (float)((double)whole + least - 0.5 - h);
        middle[i] = (float)h;
    }
}

/* Footprints of a fan at their positions, from the movement for one voxel along x and along y. */
typedef struct moving {
    _Alignas(64) float middle[LANES], begin[LANES], a[LANES], b[LANES];
} moving;

/* Detector curved about the source: the angle instead of its tangent. */
static void surrogate_around(const qb__footprints *s, size_t view, double *h, double *a, double *b) {
    const double steep = s->per_radian / (1 + *h * *h);
    *h = s->c0[view] + s->per_radian * atan(*h);
    *a *= steep;
    *b *= steep;
}

static void place_in_fan(const qb__footprints *s, size_t view, double ix, double iy, int32_t *first, moving *m) {
    const double *ax = s->ax + view, *ay = s->ay + view, *h0 = s->h0 + view;
    const double *wx = s->wx + view, *wy = s->wy + view, *w0 = s->w0 + view;
    const double least = -(double)s->taps, most = (double)s->columns;
    for (int i = 0; i < LANES; i++) {
        const double w = 1 / (wx[i] * ix + wy[i] * iy + w0[i]);
        double h = (ax[i] * ix + ay[i] * iy + h0[i]) * w;
        double a = fabs((ax[i] - h * wx[i]) * w), b = fabs((ay[i] - h * wy[i]) * w);
        if (s->per_radian > 0) surrogate_around(s, view + (size_t)i, &h, &a, &b);
        const double from = h - (a + b) / 2 + 0.5;
        double at = from < least ? least : from;
        at = at > most ? most : at;
        const int32_t whole = (int32_t)(at - least);
        first[i] = whole;
        m->begin[i] = (float)((double)whole + least - 0.5 - h);
        m->middle[i] = (float)h;
        m->a[i] = (float)a;
        m->b[i] = (float)b;
    }
}

/* Shape and area of footprints. */
typedef struct shape {
    lanes half, flat, rise, curvature, area;
} shape;

/* Avoids divisions by zero in padding views, and for a pixel seen along an axis. */
LANES_INLINE shape shape_in_fan(lanes a, lanes b, float side) {
    const lanes longer = lanes_largest(lanes_largest(a, b), lanes_all(1e-12f));
    const lanes shorter = lanes_largest(lanes_least(a, b), longer * 1e-6f);
    const lanes rise = 1.0f / longer;
    return (shape){(longer + shorter) * 0.5f, (longer - shorter) * 0.5f, rise, 0.5f * rise / shorter,
                   side * lanes_root(a * a + b * b)};
}

/* Compute the entries of columns: for each, the share before its end minus the share before its start. */
LANES_INLINE void put_taps(const qb__footprints *s, size_t view, shape is, lanes edge, lanes middle, float *tap) {
    const lanes low = lanes_all(-0.5f) - middle, high = lanes_all((float)s->columns - 0.5f) - middle;
    lanes before = share_before(between(edge, low, high), is.half, is.flat, is.rise, is.curvature);
    for (size_t k = 0; k < s->taps; k++) {
        edge += 1.0f;
        const lanes share = share_before(between(edge, low, high), is.half, is.flat, is.rise, is.curvature);
        lanes_put(tap + k * s->stride + view, is.area * (share - before));
        before = share;
    }
}

static void footprint_in_fan(const qb__footprints *s, double ix, double iy, const qb__icd_column *column) {
    for (size_t view = 0; view < s->stride; view += LANES) {
        moving m;
        place_in_fan(s, view, ix, iy, column->first + view, &m);
        const shape is = shape_in_fan(lanes_at(m.a), lanes_at(m.b), s->area);
        put_taps(s, view, is, lanes_at(m.begin), lanes_at(m.middle), column->tap);
    }
}

/* The same as place() where the footprints of 16 views lie within the detector; false: one of them does not. */
LANES_INLINE bool place_within(const qb__footprints *s, size_t view, double ix, double iy, int32_t *first,
                               float *begin) {
    const double *ax = s->ax + view, *ay = s->ay + view, *h0 = s->h0 + view;
    const float *half = s->half + view;
    const double taps = (double)s->taps;
    for (int i = 0; i < LANES; i++) {
        const double h = ax[i] * ix + ay[i] * iy + h0[i];
        const double from = h - (double)half[i] + 0.5;
        const int32_t whole = (int32_t)(from + taps); /* rounds up below -taps, which is not within */
        first[i] = whole;
        begin[i] = (float)((double)whole - taps - 0.5 - h);
    }
    const bits at = bits_from(first), low = at - (int32_t)s->taps, high = (int32_t)s->columns - at;
    return !lanes_any((low | high) & INT32_MIN);
}

/* Compute the entries of columns within the detector: the first starts before the footprint and the last one ends
 * behind it. */
LANES_INLINE void put_taps_within(const qb__footprints *s, const int taps, size_t view, shape is, lanes edge,
                                  float *tap) {
    lanes before = lanes_all(0.0f);
    for (int k = 0; k < taps; k++) {
        edge += 1.0f;
        const lanes share = k + 1 < taps ? share_before(edge, is.half, is.flat, is.rise, is.curvature) : lanes_all(1);
        lanes_put(tap + (size_t)k * s->stride + view, is.area * (share - before));
        before = share;
    }
}

LANES_INLINE void footprint_of(const qb__footprints *s, const int taps, double ix, double iy,
                               const qb__icd_column *column) {
    for (size_t view = 0; view < s->stride; view += LANES) {
        _Alignas(64) float begins[LANES], middles[LANES];
        const shape is = {lanes_from(s->half + view), lanes_from(s->flat + view), lanes_from(s->rise + view),
                          lanes_from(s->curvature + view), lanes_all(s->area)};
        if (view + LANES <= s->views && place_within(s, view, ix, iy, column->first + view, begins)) {
            put_taps_within(s, taps, view, is, lanes_at(begins), column->tap);
            continue;
        }
        place(s, view, ix, iy, column->first + view, begins, middles);
        put_taps(s, view, is, lanes_at(begins), lanes_at(middles), column->tap);
    }
}

static void footprint(const qb__footprints *s, double ix, double iy, const qb__icd_column *column) {
    if (s->wx)
        footprint_in_fan(s, ix, iy, column);
    else if (s->taps == 3)
        footprint_of(s, 3, ix, iy, column);
    else
        footprint_of(s, (int)s->taps, ix, iy, column);
}

static void unpack(const uint8_t *bytes, float scale, size_t count, float *tap) {
    for (size_t i = 0; i < count; i++) tap[i] = scale * (float)bytes[i];
}

#include "icd_block_body.h"

/* ---- the prior ---- */

typedef struct surrogate { /* constants of rho'(d) / d */
    float scale, least, per_sigma, log_t, power, pole, p, q;
} surrogate;

static surrogate surrogate_with(const qb__icd_prior *o) {
    return (surrogate){.scale = (float)(1 / (o->p * o->sigma * o->sigma * pow(o->t, o->q - o->p))),
                       .least = 1e-3f,
                       .per_sigma = (float)(1 / o->sigma),
                       .log_t = (float)log2(o->t),
                       .power = (float)(o->q - o->p),
                       .pole = (float)(o->q - 2),
                       .p = (float)o->p,
                       .q = (float)o->q};
}

/* rho'(d) / d = u^(q-2) (q + p r) / (1 + r)^2 / (p sigma^2 T^(q-p)), u = |d| / sigma, r = (u/T)^(q-p) */
LANES_INLINE lanes curvature(const surrogate *b, lanes d) {
    const lanes u = lanes_largest(lanes_size(d) * b->per_sigma, lanes_all(b->least));
    const lanes log_u = lanes_log2(u), r = lanes_exp2((log_u - b->log_t) * b->power);
    const lanes more = 1.0f + r, c = b->scale * (b->q + b->p * r) / (more * more);
    return b->pole == 0 ? c : c * lanes_exp2(log_u * b->pole);
}

typedef struct pull {
    lanes slope, curve;
} pull;

LANES_INLINE void pull_to(const surrogate *b, lanes weight, lanes x, lanes neighbour, pull *sum) {
    const lanes d = x - neighbour, c = weight * curvature(b, d);
    sum->slope += c * d;
    sum->curve += c;
}

typedef struct around {
    ptrdiff_t step[8];
    float b[8];
} around;

static around around_of(const qb__icd_problem *p) {
    const ptrdiff_t row = (ptrdiff_t)p->nx + 2;
    const float n = (float)p->prior.nearest, d = (float)p->prior.diagonal;
    return (around){{1, row, row + 1, row - 1, -1, -row, -row - 1, 1 - row}, {n, n, d, d, n, n, d, d}};
}

/* The pull of the neighbours in the slice itself. */
LANES_INLINE pull pull_within(const qb__icd_problem *p, const qb__icd_group *g, const around *near, const surrogate *b,
                              uint32_t pixel, lanes x) {
    pull sum = {{0}, {0}};
    for (int i = 0; i < 8; i++) {
        const size_t other = (size_t)((ptrdiff_t)pixel + near->step[i]);
        if (p->inside[other] && near->b[i] > 0)
            pull_to(b, lanes_all(near->b[i]), x, lanes_at(g->x + other * LANES), &sum);
    }
    return sum;
}

/* Adds the pull of the slices before and after. */
LANES_INLINE pull pull_between(const qb__icd_group *g, const surrogate *b, uint32_t pixel, lanes x, pull sum) {
    if (g->before) pull_to(b, lanes_from(g->before_b), x, lanes_from(g->before + (size_t)pixel * LANES), &sum);
    if (g->after) pull_to(b, lanes_from(g->after_b), x, lanes_from(g->after + (size_t)pixel * LANES), &sum);
    return sum;
}

/* Lanes in which the voxel or a neighbour is not zero. */
LANES_INLINE bits not_all_zero(const qb__icd_group *g, const around *near, uint32_t pixel) {
    bits any = (bits)lanes_at(g->x + (size_t)pixel * LANES);
    for (int i = 0; i < 8; i++) any |= (bits)lanes_at(g->x + (size_t)((ptrdiff_t)pixel + near->step[i]) * LANES);
    if (g->before)
        any |= (bits)lanes_from(g->before + (size_t)pixel * LANES) & lanes_below(lanes_all(0), lanes_from(g->before_b));
    if (g->after)
        any |= (bits)lanes_from(g->after + (size_t)pixel * LANES) & lanes_below(lanes_all(0), lanes_from(g->after_b));
    return (any & 0x7fffffff) != 0;
}

/* ---- Algorithm 1, voxel by voxel ---- */

static bool all_asleep(const qb__icd_group *g, const around *near, const uint32_t *pixels, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (lanes_any(not_all_zero(g, near, pixels[i]))) return false;
    return true;
}

typedef struct updating {
    const qb__icd_problem *p;
    const qb__icd_group *g;
    around near;
    surrogate b;
    bool skip;
    lanes changed;
    uint64_t updates;
} updating;

/* The step of one voxel in the lanes of `turn`, with the sum of its column and the errors. */
LANES_INLINE lanes step_in(updating *u, uint32_t pixel, bits turn, lanes slope, pull within) {
    const qb__icd_group *g = u->g;
    if (u->skip) turn &= not_all_zero(g, &u->near, pixel);
    if (!lanes_any(turn)) return lanes_all(0.0f);
    u->updates++;
    const lanes x = lanes_at(g->x + (size_t)pixel * LANES);
    const lanes curve = lanes_at(g->curve + (size_t)pixel * LANES);
    const pull prior = pull_between(g, &u->b, pixel, x, within);
    lanes next = x + (slope - prior.slope) / (curve + prior.curve);
    next = lanes_pick(lanes_below(lanes_all(0), curve) & turn, next, x); /* each lane is skipped on its own */
    if (u->p->positive) next = lanes_largest(next, lanes_all(0.0f));
    lanes_put(g->x + (size_t)pixel * LANES, next);
    return next - x;
}

/* The step of one voxel in all lanes; one after the other in lanes that are neighbours. */
LANES_INLINE lanes step_of(updating *u, uint32_t pixel, lanes slope) {
    const qb__icd_group *g = u->g;
    const bits all = (bits)lanes_all(0.0f) == 0, even = {-1, 0, -1, 0, -1, 0, -1, 0, -1, 0, -1, 0, -1, 0, -1, 0};
    if (u->skip && !lanes_any(not_all_zero(g, &u->near, pixel))) return lanes_all(0.0f);
    const lanes x = lanes_at(g->x + (size_t)pixel * LANES);
    const pull within = pull_within(u->p, g, &u->near, &u->b, pixel, x);
    lanes step = step_in(u, pixel, g->woven ? even : all, slope, within);
    if (g->woven) step += step_in(u, pixel, ~even, slope, within);
    u->changed += lanes_size(step);
    return step;
}

static void update(const qb__icd_problem *p, const qb__icd_group *g, const uint32_t *pixels, size_t count, bool skip,
                   qb__icd_moved *moved, void *scratch) {
    updating u = {.p = p, .g = g, .near = around_of(p), .b = surrogate_with(&p->prior), .skip = skip};
    const blocks all = blocks_in(&p->footprints, scratch);
    const block *late = NULL; /* the previous steps, which are not applied to the error yet */
    lanes step[TOGETHER] = {{0}};
    int hand = 0;
    for (size_t i = 0, n; i < count; i += n) {
        const block *b = &all.of[hand];
        block_sums sums;
        n = together(p, pixels + i, count - i);
        if (skip && all_asleep(g, &u.near, pixels + i, n)) continue;
        n = fetch_together(p, pixels + i, n, &all, b);
        if (!g->weight) multiply_pairs(&p->footprints, all.width, b, &sums);
        dot_together(p, all.width, g->weight, g->error, b, late, step, &sums);
        bits any = {0};
        for (size_t j = 0, pair = 0; j < TOGETHER; j++) {
            for (size_t k = 0; k < j; k++, pair++) sums.of[j] -= sums.pair[pair] * step[k];
            step[j] = j < n ? step_of(&u, pixels[i + j], sums.of[j]) : lanes_all(0.0f);
            any |= (bits)step[j] & 0x7fffffff;
        }
        late = lanes_any(any) ? b : NULL;
        hand ^= late != NULL;
    }
    if (late) subtract_together(p, all.width, late, step, g->error);
    for (int i = 0; i < LANES; i++) moved->change[i] += (double)u.changed[i];
    moved->updates += u.updates;
}

/* ---- start and end of a descent ---- */

/* Without weights the curvature of a voxel is the same in all slices. */
static float square_of(const qb__icd_problem *p, const qb__icd_column *column) {
    const size_t stride = p->footprints.stride, views = p->footprints.views;
    lanes sum = {0};
    float rest = 0;
    for (size_t k = 0; k < p->footprints.taps; k++) {
        const float *tap = column->tap + k * stride;
        size_t view = 0;
        for (; view + LANES <= views; view += LANES) sum += lanes_from(tap + view) * lanes_from(tap + view);
        for (; view < views; view++) rest += tap[view] * tap[view];
    }
    return lanes_sum(sum) + rest;
}

static void curve_of(const qb__icd_problem *p, const float *weight, const uint32_t *pixels, size_t count, float *curve,
                     void *scratch) {
    const size_t stride = p->footprints.stride, taps = p->footprints.taps;
    const size_t row = (p->footprints.columns + 2 * taps) * LANES;
    enum { CHAINS = 4 }; /* independent sums, so that additions do not wait for each other */
    const qb__icd_column *column = blocks_in(&p->footprints, scratch).column;
    for (size_t i = 0; i < count; i++) {
        lanes sum[CHAINS] = {{0}};
        p->fetch(p, pixels[i], column);
        if (!weight) {
            lanes_put(curve + (size_t)pixels[i] * LANES, lanes_all(square_of(p, column)));
            continue;
        }
        for (size_t view = 0; view < p->footprints.views; view++) {
            const size_t at = view * row + (size_t)column->first[view] * LANES;
            for (size_t k = 0; k < taps; k++) {
                const float tap = column->tap[k * stride + view], square = tap * tap;
                sum[k % CHAINS] += square * lanes_at(weight + at + k * LANES);
            }
        }
        lanes_put(curve + (size_t)pixels[i] * LANES, (sum[0] + sum[1]) + (sum[2] + sum[3]));
    }
}

static void back(const qb__icd_problem *p, const float *lines, const uint32_t *pixels, size_t count, float *x,
                 float *curve, void *scratch) {
    const blocks all = blocks_in(&p->footprints, scratch);
    for (size_t i = 0, n; i < count; i += n) {
        block_sums sums;
        n = fetch_together(p, pixels + i, together(p, pixels + i, count - i), &all, &all.of[0]);
        dot_together(p, all.width, NULL, (float *)lines, &all.of[0], NULL, NULL, &sums);
        for (size_t j = 0; j < n; j++) {
            const size_t at = (size_t)pixels[i + j] * LANES;
            lanes_put(x + at, sums.of[j]);
            if (curve) lanes_put(curve + at, lanes_all(square_of(p, &all.column[j])));
        }
    }
}

static void subtract(const qb__icd_problem *p, const float *x, const uint32_t *pixels, size_t count, float *lines,
                     void *scratch) {
    const blocks all = blocks_in(&p->footprints, scratch);
    for (size_t i = 0, n; i < count; i += n) {
        lanes value[TOGETHER] = {{0}};
        bits any = {0};
        n = together(p, pixels + i, count - i);
        for (size_t j = 0; j < n; j++) any |= (bits)lanes_at(x + (size_t)pixels[i + j] * LANES) & 0x7fffffff;
        if (!lanes_any(any)) continue;
        n = fetch_together(p, pixels + i, n, &all, &all.of[0]);
        for (size_t j = 0; j < n; j++) value[j] = lanes_at(x + (size_t)pixels[i + j] * LANES);
        subtract_together(p, all.width, &all.of[0], value, lines);
    }
}

/* rho(d) = d^2 / 2 * c(least) below `least`, else its definition, with |u|^p/p r/(1+r) for large values. */
LANES_INLINE lanes rho(const surrogate *b, const surrogate *offset, const lanes *d) {
    const lanes size = lanes_size(*d) * b->per_sigma;
    const lanes u = lanes_largest(size, lanes_all(b->least));
    const lanes log_u = lanes_log2(u), r = lanes_exp2((log_u - b->log_t) * b->power);
    const lanes far = lanes_exp2(log_u * b->p) * r / ((1.0f + r) * b->p) + offset->scale;
    const lanes close = 0.5f * offset->least * size * size;
    return lanes_pick(lanes_below(size, lanes_all(b->least)), close, far);
}

/* Constants that keep rho continuous at `least`: its curvature there, and an offset. */
static surrogate offset_of(const qb__icd_prior *o, const surrogate *b) {
    const double least = (double)b->least * o->sigma, bent = qb__icd_surrogate_reference(o, least);
    const double u = (double)b->least, r = pow(u / o->t, o->q - o->p);
    return (surrogate){.least = (float)(bent * o->sigma * o->sigma),
                       .scale = (float)(0.5 * bent * least * least - pow(u, o->p) / o->p * r / (1 + r))};
}

static void prior_cost(const qb__icd_problem *p, const qb__icd_group *g, const uint32_t *pixels, size_t count,
                       double *cost) {
    const surrogate b = surrogate_with(&p->prior), offset = offset_of(&p->prior, &b);
    const around near = around_of(p);
    for (size_t i = 0; i < count; i++) {
        const uint32_t pixel = pixels[i];
        const lanes x = lanes_at(g->x + (size_t)pixel * LANES);
        lanes sum = {0};
        for (int n = 0; n < 4; n++) { /* each pair once */
            const size_t other = (size_t)((ptrdiff_t)pixel + near.step[n]);
            const lanes d = x - lanes_at(g->x + other * LANES);
            if (p->inside[other]) sum += near.b[n] * rho(&b, &offset, &d);
        }
        if (g->after) {
            const lanes d = x - lanes_from(g->after + (size_t)pixel * LANES);
            sum += lanes_from(g->after_b) * rho(&b, &offset, &d);
        }
        for (int l = 0; l < LANES; l++) cost[l] += (double)sum[l];
    }
}

#include "icd_band_body.h"

#define ICD_VARIANT(name, needs, rate)                                                                                 \
    {                                                                                                                  \
        .head = {.id = name,                                                                                           \
                 .operation = QB__ICD,                                                                                 \
                 .interp = QB_INTERP_LINEAR,                                                                           \
                 .accuracy = QB_ACCURACY_HIGH,                                                                         \
                 .features = needs,                                                                                    \
                 .speed = rate},                                                                                       \
        .footprint = footprint, .unpack = unpack, .update = update, .curve = curve_of, .back = back,                   \
        .subtract = subtract, .prior = prior_cost, .band = {                                                           \
            band_update,                                                                                               \
            band_back,                                                                                                 \
            band_curve,                                                                                                \
            band_subtract,                                                                                             \
            band_prior                                                                                                 \
        }                                                                                                              \
    }
