/* SPDX-License-Identifier: MIT */
/* project_joseph in vectors of WIDTH rows of a detector column. The including file supplies
 *
 *   WIDTH, vector, integers, lanes        single precision, 32-bit integers, a choice of lanes
 *   vector_...(), integers_...()          arithmetic; vector_place() is 0, 1, 2, ...
 *   lanes_first(n), lanes_inside()        the first n lanes; those with -1 < v < limit
 *   window(p, i), window_two(p, i, &, &)  p[i], and p[i + 1], for 0 <= i and i + 1 < 2 WIDTH
 *   gather(p, i, on), gather_two()        for any i; lanes not chosen are 0
 *
 * Anything may be read in a window of 2 WIDTH + 1 floats. */
#ifndef QB_CPU_PROJECT_JOSEPH_BODY_H
#define QB_CPU_PROJECT_JOSEPH_BODY_H

#include <math.h>
#include <string.h>

#include "project_joseph_rows.h"

#define INLINE static inline __attribute__((always_inline))

#include "project_joseph_upright.h"

/* ---- rays that lie anyhow: each by itself ---- */

/* Rows r <= row < r + WIDTH of a fan within a brick, those of one axis: where they cross its first
 * plane, and how far they move from plane to plane. */
typedef struct rays {
    lanes on;
    vector b, c, step_b, step_c;
    int axis, other, third;
} rays;

/* A place outside the brick's reach, in single precision. */
INLINE float nearby(double place) {
    return place > -1e6 && place < 1e6 ? (float)place : 1e6f;
}

/* False when none of the rows has this axis. */
INLINE bool rays_of(const qb__joseph_brick *brick, const qb__fan *f, size_t r, size_t count,
                    int axis, rays *out) {
    _Alignas(64) float place[4][WIDTH];
    unsigned chosen = 0;
    const int other = axis == 0 ? 1 : 0, third = axis == 2 ? 1 : 2;
    for (size_t i = 0; i < WIDTH; i++) {
        const double row = (double)(r + (i < count ? i : 0));
        if (i < count && qb__fan_axis(f, row) == axis) chosen |= 1u << i;
        const double main = f->along[axis] + row * f->along_step[axis];
        const double inverse = main != 0 ? 1 / main : 0;
        const double planes =
            (double)brick->at[axis] - f->origin[axis] - row * f->origin_step[axis];
        for (int j = 0; j < 2; j++) {
            const int to = j ? third : other;
            const double slope = (f->along[to] + row * f->along_step[to]) * inverse;
            const double at = f->origin[to] + row * f->origin_step[to] + planes * slope;
            place[2 * j][i] = nearby(at - (double)brick->at[to]);
            place[2 * j + 1][i] = fabs(slope) <= 1 ? (float)slope : 0;
        }
    }
    *out = (rays){.on = lanes_of(chosen), .axis = axis, .other = other, .third = third};
    out->b = vector_load(place[0]), out->step_b = vector_load(place[1]);
    out->c = vector_load(place[2]), out->step_c = vector_load(place[3]);
    return chosen != 0;
}

/* Where the rays are in plane k. */
typedef struct tap {
    lanes on;
    integers index; /* of the lowest of the four voxels */
    vector b, c;    /* shares of the upper ones */
} tap;

INLINE bool tap_of(const qb__joseph_brick *brick, const rays *ray, const size_t steps[3], size_t k,
                   tap *t) {
    const vector plane = vector_set1((float)k);
    const vector b = vector_fma(ray->step_b, plane, ray->b);
    const vector c = vector_fma(ray->step_c, plane, ray->c);
    t->on = lanes_inside(ray->on, b, (float)brick->n[ray->other]);
    t->on = lanes_inside(t->on, c, (float)brick->n[ray->third]);
    if (!lanes_any(t->on)) return false;
    const vector whole_b = vector_floor(b), whole_c = vector_floor(c);
    const integers index_b = integers_add(integers_of(whole_b), integers_set1(1));
    const integers index_c = integers_add(integers_of(whole_c), integers_set1(1));
    t->b = vector_sub(b, whole_b);
    t->c = vector_sub(c, whole_c);
    t->index =
        integers_add(integers_set1((int)((k + 1) * steps[ray->axis])),
                     integers_add(integers_mul(index_b, integers_set1((int)steps[ray->other])),
                                  integers_mul(index_c, integers_set1((int)steps[ray->third]))));
    return true;
}

INLINE void general_forward(const qb__joseph_brick *brick, const qb__fan *f, size_t r0, size_t r1,
                            float *sums) {
    const size_t steps[3] = {brick->stride, (brick->n[0] + 2) * brick->stride, 1};
    for (size_t r = r0; r < r1; r += WIDTH) {
        const size_t count = r1 - r < WIDTH ? r1 - r : WIDTH;
        vector sum = vector_set1(0);
        for (int axis = 0; axis < 3; axis++) {
            rays ray;
            tap t;
            if (!rays_of(brick, f, r, count, axis, &ray)) continue;
            const float *beside = brick->data + steps[ray.other];
            for (size_t k = 0; k < brick->n[axis]; k++) {
                if (!tap_of(brick, &ray, steps, k, &t)) continue;
                vector low[2], high[2];
                gather_apart(brick->data, steps[ray.third], t.index, t.on, &low[0], &high[0]);
                gather_apart(beside, steps[ray.third], t.index, t.on, &low[1], &high[1]);
                const vector a = vector_fma(t.c, vector_sub(high[0], low[0]), low[0]);
                const vector d = vector_fma(t.c, vector_sub(high[1], low[1]), low[1]);
                const vector value = vector_fma(t.b, vector_sub(d, a), a);
                sum = vector_add(sum, vector_chosen(t.on, value));
            }
        }
        const lanes on = lanes_first(count);
        vector_store_some(sums + r, on, vector_add(vector_load_some(sums + r, on), sum));
    }
}

/* Rows may meet in a voxel, so they are added one after the other. */
INLINE void scatter(float *data, const size_t steps[3], const rays *ray, const tap *t,
                    vector value) {
    _Alignas(64) float part[4][WIDTH];
    _Alignas(64) int32_t index[WIDTH];
    const vector upper = vector_mul(t->b, value), lower = vector_sub(value, upper);
    const vector upper_c = vector_mul(t->c, upper), lower_c = vector_mul(t->c, lower);
    vector_store(part[0], vector_sub(lower, lower_c));
    vector_store(part[1], lower_c);
    vector_store(part[2], vector_sub(upper, upper_c));
    vector_store(part[3], upper_c);
    integers_store(index, t->index);
    const size_t b = steps[ray->other], c = steps[ray->third];
    for (unsigned on = lanes_bits(t->on); on; on &= on - 1) {
        const int i = __builtin_ctz(on);
        float *to = data + index[i];
        to[0] += part[0][i];
        to[c] += part[1][i];
        to[b] += part[2][i];
        to[b + c] += part[3][i];
    }
}

INLINE void general_adjoint(const qb__joseph_brick *brick, const qb__fan *f, size_t r0, size_t r1,
                            const float *values) {
    const size_t steps[3] = {brick->stride, (brick->n[0] + 2) * brick->stride, 1};
    for (size_t r = r0; r < r1; r += WIDTH) {
        const size_t count = r1 - r < WIDTH ? r1 - r : WIDTH;
        const vector value = vector_load_some(values + r, lanes_first(count));
        for (int axis = 0; axis < 3; axis++) {
            rays ray;
            tap t;
            if (!rays_of(brick, f, r, count, axis, &ray)) continue;
            for (size_t k = 0; k < brick->n[axis]; k++)
                if (tap_of(brick, &ray, steps, k, &t)) scatter(brick->data, steps, &ray, &t, value);
        }
    }
}

/* ---- both ---- */

/* Columns taken at a time. */
enum { BLOCK = 32 };

typedef struct block {
    upright upright[BLOCK];
    const qb__fan *general[BLOCK];
    float *rays[BLOCK]; /* of the general ones */
    size_t uprights, generals;
} block;

static void sort_fans(const qb__fan *fans, size_t count, size_t r0, size_t r1, float *lines,
                      size_t stride, block *b) {
    b->uprights = b->generals = 0;
    for (size_t i = 0; i < count; i++) {
        if (upright_of(&fans[i], r0, r1, &b->upright[b->uprights])) {
            b->upright[b->uprights++].rays = lines + i * stride;
        } else {
            b->general[b->generals] = &fans[i];
            b->rays[b->generals++] = lines + i * stride;
        }
    }
}

static void joseph_forward(const qb__joseph_brick *brick, const qb__fan *fans, size_t count,
                           size_t r0, size_t r1, float *sums, size_t stride, void *scratch) {
    memset(scratch, 0, (LINE + 2 * PAD) * sizeof(float));
    for (size_t i = 0; i < count && r0 < r1; i += BLOCK) {
        block b;
        sort_fans(fans + i, count - i < BLOCK ? count - i : BLOCK, r0, r1, sums + i * stride,
                  stride, &b);
        for (int axis = 0; axis < 2; axis++)
            upright_forward(brick, b.upright, b.uprights, axis, r0, r1, scratch);
        for (size_t j = 0; j < b.generals; j++)
            general_forward(brick, b.general[j], r0, r1, b.rays[j]);
    }
}

static void joseph_adjoint(const qb__joseph_brick *brick, const qb__fan *fans, size_t count,
                           size_t r0, size_t r1, const float *values, size_t stride,
                           void *scratch) {
    memset(scratch, 0, (LINE + 2 * PAD) * sizeof(float));
    for (size_t i = 0; i < count && r0 < r1; i += BLOCK) {
        block b;
        sort_fans(fans + i, count - i < BLOCK ? count - i : BLOCK, r0, r1,
                  (float *)values + i * stride, stride, &b);
        copy_columns(b.upright, b.uprights, r0, r1, scratch);
        for (int axis = 0; axis < 2; axis++)
            upright_adjoint(brick, b.upright, b.uprights, axis, r0, r1, scratch);
        for (size_t j = 0; j < b.generals; j++)
            general_adjoint(brick, b.general[j], r0, r1, b.rays[j]);
    }
}

/* A line between zeros, a block's columns between zeros. */
static size_t joseph_scratch_bytes(size_t rows) {
    return (LINE + 3 * PAD + BLOCK * (rows + PAD) + 15) / 16 * 64;
}

#define JOSEPH_VARIANT                                                                             \
    .accuracy = QB__ACCURACY_HIGH, .forward = joseph_forward, .adjoint = joseph_adjoint,           \
    .scratch_bytes = joseph_scratch_bytes

#endif
