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

static void footprint(const qb__footprints *s, double ix, double iy, const qb__icd_column *column) {
    if (s->wx) {
        footprint_in_fan(s, ix, iy, column);
        return;
    }
    for (size_t view = 0; view < s->stride; view += LANES) {
        _Alignas(64) float begins[LANES], middles[LANES];
        place(s, view, ix, iy, column->first + view, begins, middles);
        const shape is = {lanes_from(s->half + view), lanes_from(s->flat + view), lanes_from(s->rise + view),
                          lanes_from(s->curvature + view), lanes_all(s->area)};
        put_taps(s, view, is, lanes_at(begins), lanes_at(middles), column->tap);
    }
}

static void unpack(const uint8_t *bytes, float scale, size_t count, float *tap) {
    for (size_t i = 0; i < count; i++) tap[i] = scale * (float)bytes[i];
}

/* ---- a column of A with 16 slices ---- */

enum { CHAINS = 4 }; /* independent sums, so that additions do not wait for each other */

/* Sum A w e of one column, after e -= A' step of another one: neighbouring footprints overlap, and what was just
 * written is read from the nearest cache. taps is a constant in the usual cases. */
LANES_INLINE lanes dot_columns(const qb__icd_problem *p, const int taps, const float *weight, float *error,
                               const qb__icd_column *column, const qb__icd_column *late, lanes step) {
    const size_t stride = p->footprints.stride;
    const size_t row = (p->footprints.columns + 2 * p->footprints.taps) * LANES;
    lanes sum[CHAINS] = {{0}};
    for (size_t view = 0; view < p->footprints.views; view++) {
        float *e = error + view * row;
        if (late) {
            float *to = e + (size_t)late->first[view] * LANES;
            for (int k = 0; k < taps; k++)
                lanes_put(to + k * LANES, lanes_at(to + k * LANES) - late->tap[(size_t)k * stride + view] * step);
        }
        const size_t at = (size_t)column->first[view] * LANES;
        for (int k = 0; k < taps; k++) {
            const float tap = column->tap[(size_t)k * stride + view];
            const lanes value = lanes_at(e + at + k * LANES);
            sum[k % CHAINS] += tap * (weight ? value * lanes_at(weight + view * row + at + k * LANES) : value);
        }
    }
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/* The usual numbers of taps are compile-time constants. */
LANES_INLINE lanes dot_any(const qb__icd_problem *p, const float *weight, float *error, const qb__icd_column *column,
                           const qb__icd_column *late, lanes step) {
    const int taps = (int)p->footprints.taps;
#define DOT(n)                                                                                                         \
    if (taps == n)                                                                                                     \
    return late ? dot_columns(p, n, weight, error, column, late, step)                                                 \
                : dot_columns(p, n, weight, error, column, NULL, step)
    DOT(3);
    DOT(4);
    DOT(5);
#undef DOT
    return dot_columns(p, taps, weight, error, column, late, step);
}

LANES_INLINE lanes dot(const qb__icd_problem *p, const qb__icd_group *g, const qb__icd_column *column,
                       const qb__icd_column *late, lanes step) {
    return g->weight ? dot_any(p, g->weight, g->error, column, late, step)
                     : dot_any(p, NULL, g->error, column, late, step);
}

LANES_INLINE void subtract_taps(const qb__icd_problem *p, const int taps, const qb__icd_column *column, lanes step,
                                float *lines) {
    const size_t stride = p->footprints.stride;
    const size_t row = (p->footprints.columns + 2 * p->footprints.taps) * LANES;
    for (size_t view = 0; view < p->footprints.views; view++) {
        float *to = lines + view * row + (size_t)column->first[view] * LANES;
        for (int k = 0; k < taps; k++)
            lanes_put(to + k * LANES, lanes_at(to + k * LANES) - column->tap[(size_t)k * stride + view] * step);
    }
}

static void subtract_column(const qb__icd_problem *p, const qb__icd_column *column, lanes step, float *lines) {
    switch (p->footprints.taps) {
    case 3: subtract_taps(p, 3, column, step, lines); return;
    case 4: subtract_taps(p, 4, column, step, lines); return;
    case 5: subtract_taps(p, 5, column, step, lines); return;
    default: subtract_taps(p, (int)p->footprints.taps, column, step, lines);
    }
}

static void columns_in(const qb__footprints *s, void *scratch, qb__icd_column column[2]) {
    float *at = scratch;
    for (int i = 0; i < 2; i++) {
        column[i].tap = at;
        at += s->taps * s->stride;
    }
    for (int i = 0; i < 2; i++) column[i].first = (int32_t *)(void *)at + (size_t)i * s->stride;
}

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

LANES_INLINE pull pull_of(const qb__icd_problem *p, const qb__icd_group *g, const around *near, const surrogate *b,
                          uint32_t pixel, lanes x) {
    pull sum = {{0}, {0}};
    for (int i = 0; i < 8; i++) {
        const size_t other = (size_t)((ptrdiff_t)pixel + near->step[i]);
        if (p->inside[other] && near->b[i] > 0)
            pull_to(b, lanes_all(near->b[i]), x, lanes_at(g->x + other * LANES), &sum);
    }
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

static void update(const qb__icd_problem *p, const qb__icd_group *g, const uint32_t *pixels, size_t count, bool skip,
                   qb__icd_moved *moved, void *scratch) {
    const surrogate b = surrogate_with(&p->prior);
    const around near = around_of(p);
    qb__icd_column column[2];
    columns_in(&p->footprints, scratch, column);
    const qb__icd_column *late = NULL; /* the previous step, which is not applied to the error yet */
    lanes step = {0}, changed = {0};
    int hand = 0;
    for (size_t i = 0; i < count; i++) {
        const uint32_t pixel = pixels[i];
        bits awake = (bits)lanes_all(0.0f) == 0;
        if (skip) awake = not_all_zero(g, &near, pixel);
        if (!lanes_any(awake)) continue;
        p->fetch(p, pixel, &column[hand]);
        const lanes slope = dot(p, g, &column[hand], late, step);
        const lanes x = lanes_at(g->x + (size_t)pixel * LANES);
        const lanes curve = lanes_at(g->curve + (size_t)pixel * LANES);
        const pull prior = pull_of(p, g, &near, &b, pixel, x);
        lanes next = x + (slope - prior.slope) / (curve + prior.curve);
        next = lanes_pick(lanes_below(lanes_all(0), curve) & awake, next, x); /* each lane is skipped on its own */
        if (p->positive) next = lanes_largest(next, lanes_all(0.0f));
        lanes_put(g->x + (size_t)pixel * LANES, next);
        step = next - x;
        changed += lanes_size(step);
        late = lanes_any((bits)step & 0x7fffffff) ? &column[hand] : NULL;
        hand ^= late != NULL;
        moved->updates++;
    }
    if (late) subtract_column(p, late, step, g->error);
    for (int i = 0; i < LANES; i++) moved->change[i] += (double)changed[i];
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
    qb__icd_column column[2];
    columns_in(&p->footprints, scratch, column);
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
    const qb__icd_group g = {.error = (float *)lines};
    qb__icd_column column[2];
    columns_in(&p->footprints, scratch, column);
    for (size_t i = 0; i < count; i++) {
        p->fetch(p, pixels[i], column);
        lanes_put(x + (size_t)pixels[i] * LANES, dot(p, &g, column, NULL, lanes_all(0.0f)));
        if (curve) lanes_put(curve + (size_t)pixels[i] * LANES, lanes_all(square_of(p, column)));
    }
}

static void subtract(const qb__icd_problem *p, const float *x, const uint32_t *pixels, size_t count, float *lines,
                     void *scratch) {
    qb__icd_column column[2];
    columns_in(&p->footprints, scratch, column);
    for (size_t i = 0; i < count; i++) {
        const lanes value = lanes_at(x + (size_t)pixels[i] * LANES);
        if (!lanes_any((bits)value & 0x7fffffff)) continue;
        p->fetch(p, pixels[i], column);
        subtract_column(p, column, value, lines);
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
