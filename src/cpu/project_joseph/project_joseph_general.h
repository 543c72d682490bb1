/* SPDX-License-Identifier: MIT */
/* project_joseph for rays of any direction, WIDTH rows of a column at a time. See project_joseph_body.h for the
 * vectors.
 *
 * If rows follow one another closely along z, as for a slightly tilted detector, those of a vector lie between the same
 * two or three lines along z: they read through windows, and the adjoint finds for each voxel along z the rows that
 * reach it. Otherwise every ray fetches its voxels one by one, and the adjoint adds to them one after the other. */
#pragma once

/* Rows r <= row < r + WIDTH of a fan within a brick that have one main axis: their crossings with its first plane, and
 * their movement per plane. */
typedef struct rays {
    lanes on;
    size_t count; /* rows, of any axis */
    int axis, other, third;
    vector b, c, step_b, step_c;
    float first, step_first, last, step_last; /* c of the first and of the last row */
    /* all have one axis, not z, and are less than 2 WIDTH voxels apart along z */
    bool close;
} rays;

INLINE float lower(float a, float b) { return a < b ? a : b; }
INLINE float higher(float a, float b) { return a > b ? a : b; }

/* A position outside the brick's range, in single precision. */
INLINE float nearby(double place) { return place > -1e6 && place < 1e6 ? (float)place : 1e6f; }

/* True if rows are close in the brick's first and last plane, and so in all. */
INLINE bool are_close(const qb__joseph_brick *brick, const rays *ray) {
    const float from = ray->last - ray->first, step = ray->step_last - ray->step_first;
    const float to = from + ((float)brick->n[ray->axis] - 1) * step;
    return higher(fabsf(from), fabsf(to)) + 2.1f < 2 * WIDTH;
}

/* The rows with this axis; between two of them, if their direction does not change its sense, all have it. */
INLINE unsigned rows_of_axis(const qb__fan *f, size_t r, size_t count, int axis) {
    const double first = (double)r, last = (double)(r + count - 1);
    const double d0 = f->along[axis] + first * f->along_step[axis];
    const double d1 = f->along[axis] + last * f->along_step[axis];
    const bool at_first = qb__fan_axis(f, first) == axis, at_last = qb__fan_axis(f, last) == axis;
    if (at_first && at_last && d0 * d1 > 0) return (2u << (count - 1)) - 1;
    unsigned chosen = 0;
    for (size_t i = 0; i < count; i++)
        if (qb__fan_axis(f, first + (double)i) == axis) chosen |= 1u << i;
    return chosen;
}

INLINE void rays_of(const qb__joseph_brick *brick, const qb__fan *f, size_t r, size_t count, int axis, unsigned chosen,
                    rays *out) {
    _Alignas(64) float place[4][WIDTH];
    const int other = axis == 0 ? 1 : 0, third = axis == 2 ? 1 : 2;
    for (size_t i = 0; i < WIDTH; i++) {
        const double row = (double)(r + (i < count ? i : count - 1));
        const double main = f->along[axis] + row * f->along_step[axis];
        const double inverse = main != 0 ? 1 / main : 0;
        const double planes = (double)brick->at[axis] - f->origin[axis] - row * f->origin_step[axis];
        for (int j = 0; j < 2; j++) {
            const int to = j ? third : other;
            const double slope = (f->along[to] + row * f->along_step[to]) * inverse;
            const double at = f->origin[to] + row * f->origin_step[to] + planes * slope;
            place[2 * j][i] = nearby(at - (double)brick->at[to]);
            /* Rows of another axis may be steeper, and are not checked; if two axes are equal (qb__fan_axis) their
             * slope is 1 except for rounding. */
            place[2 * j + 1][i] = fabs(slope) < 1.001 ? (float)slope : 0;
        }
    }
    *out = (rays){.on = lanes_of(chosen),
                  .count = count,
                  .axis = axis,
                  .other = other,
                  .third = third,
                  .first = place[2][0],
                  .step_first = place[3][0],
                  .last = place[2][count - 1],
                  .step_last = place[3][count - 1],
                  .close = WIDTH > 1 && axis < 2 && chosen == (2u << (count - 1)) - 1};
    out->b = vector_load(place[0]), out->step_b = vector_load(place[1]);
    out->c = vector_load(place[2]), out->step_c = vector_load(place[3]);
    out->close = out->close && are_close(brick, out);
}

/* Positions of the rays in plane k: between voxels whole and whole + 1 along the two other axes. */
typedef struct tap {
    lanes on;
    vector whole_b, whole_c;
    vector b, c; /* weights of the upper voxels */
    vector at_c; /* whole_c + c */
} tap;

INLINE bool tap_of(const qb__joseph_brick *brick, const rays *ray, size_t k, tap *t) {
    const vector plane = vector_set1((float)k);
    const vector b = vector_fma(ray->step_b, plane, ray->b);
    t->at_c = vector_fma(ray->step_c, plane, ray->c);
    t->on = lanes_inside(ray->on, b, (float)brick->n[ray->other]);
    t->on = lanes_inside(t->on, t->at_c, (float)brick->n[ray->third]);
    if (!lanes_any(t->on)) return false;
    t->whole_b = vector_floor(b), t->whole_c = vector_floor(t->at_c);
    t->b = vector_sub(b, t->whole_b);
    t->c = vector_sub(t->at_c, t->whole_c);
    return true;
}

/* Index of the lowest of the four voxels in the brick's data. */
INLINE integers index_of(const rays *ray, const tap *t, const size_t steps[3], size_t k) {
    const integers one = integers_set1(1);
    const integers b = integers_add(integers_of(t->whole_b), one);
    const integers c = integers_add(integers_of(t->whole_c), one);
    return integers_add(integers_set1((int)((k + 1) * steps[ray->axis])),
                        integers_add(integers_mul(b, integers_set1((int)steps[ray->other])),
                                     integers_mul(c, integers_set1((int)steps[ray->third]))));
}

INLINE vector fetch_apart(const qb__joseph_brick *brick, const rays *ray, const tap *t, const size_t steps[3],
                          size_t k) {
    const integers index = index_of(ray, t, steps, k);
    vector low[2], high[2];
    gather_apart(brick->data, steps[ray->third], index, t->on, &low[0], &high[0]);
    gather_apart(brick->data + steps[ray->other], steps[ray->third], index, t->on, &low[1], &high[1]);
    const vector a = vector_fma(t->c, vector_sub(high[0], low[0]), low[0]);
    const vector d = vector_fma(t->c, vector_sub(high[1], low[1]), low[1]);
    return vector_chosen(t->on, vector_fma(t->b, vector_sub(d, a), a));
}

/* The lowest voxel along z that rows of the vector may touch in plane k. */
INLINE int window_base(const rays *ray, size_t k) {
    const float first = ray->first + (float)k * ray->step_first;
    const float last = ray->last + (float)k * ray->step_last;
    return (int)floorf(higher(lower(first, last) - (float)SLACK, -1.5f));
}

/* The lowest of the active lanes: its b, and in *same the active lanes with the same b. */
INLINE float lines_of(const tap *t, const float *whole_b, lanes left, lanes *same) {
    const float b = whole_b[__builtin_ctz(lanes_bits(left))];
    *same = lanes_equal(left, t->whole_b, b);
    return b;
}

INLINE vector fetch_close(const qb__joseph_brick *brick, const rays *ray, const tap *t, const size_t steps[3],
                          size_t k) {
    _Alignas(64) float whole_b[WIDTH];
    const int base = window_base(ray, k);
    const integers index = integers_add(integers_of(t->whole_c), integers_set1(-base));
    const float *plane = brick->data + (k + 1) * steps[ray->axis] + 1;
    vector value = vector_set1(0);
    vector_store(whole_b, t->whole_b);
    for (lanes left = t->on, same; lanes_any(left); left = lanes_without(left, same)) {
        const float line = lines_of(t, whole_b, left, &same);
        const float *from = plane + (size_t)(line + 1) * steps[ray->other] + base;
        vector low[2], high[2];
        window_two(from, index, &low[0], &high[0]);
        window_two(from + steps[ray->other], index, &low[1], &high[1]);
        const vector a = vector_fma(t->c, vector_sub(high[0], low[0]), low[0]);
        const vector d = vector_fma(t->c, vector_sub(high[1], low[1]), low[1]);
        value = vector_add(value, vector_chosen(same, vector_fma(t->b, vector_sub(d, a), a)));
    }
    return value;
}

static void general_forward(const qb__joseph_brick *brick, const qb__fan *f, size_t r0, size_t r1, float *sums) {
    const size_t steps[3] = {brick->stride, (brick->n[0] + 2) * brick->stride, 1};
    for (size_t r = r0; r < r1; r += WIDTH) {
        const size_t count = r1 - r < WIDTH ? r1 - r : WIDTH;
        vector sum = vector_set1(0);
        for (int axis = 0; axis < 3; axis++) {
            const unsigned chosen = rows_of_axis(f, r, count, axis);
            rays ray;
            tap t;
            if (!chosen) continue;
            rays_of(brick, f, r, count, axis, chosen, &ray);
            for (size_t k = 0; k < brick->n[axis]; k++) {
                if (!tap_of(brick, &ray, k, &t)) continue;
                sum = vector_add(sum, ray.close ? fetch_close(brick, &ray, &t, steps, k)
                                                : fetch_apart(brick, &ray, &t, steps, k));
            }
        }
        const lanes on = lanes_first(count);
        vector_store_some(sums + r, on, vector_add(vector_load_some(sums + r, on), sum));
    }
}

/* Rows may share a voxel, so they are added one after the other: every fourth first, because an addition waits for a
 * recent store to the same address. */
INLINE void scatter(float *data, const size_t steps[3], const rays *ray, const tap *t, size_t k, vector value) {
    _Alignas(64) float part[4][WIDTH];
    _Alignas(64) int32_t index[WIDTH];
    const vector upper = vector_mul(t->b, value), below = vector_sub(value, upper);
    const vector upper_c = vector_mul(t->c, upper), below_c = vector_mul(t->c, below);
    vector_store(part[0], vector_sub(below, below_c));
    vector_store(part[1], below_c);
    vector_store(part[2], vector_sub(upper, upper_c));
    vector_store(part[3], upper_c);
    integers_store(index, index_of(ray, t, steps, k));
    const size_t b = steps[ray->other], c = steps[ray->third];
    const unsigned on = lanes_bits(t->on);
    for (unsigned from = 0; from < 4; from++) {
        for (unsigned i = from; i < WIDTH; i += 4) {
            if (!(on >> i & 1)) continue;
            float *to = data + index[i];
            to[0] += part[0][i];
            to[c] += part[1][i];
            to[b] += part[2][i];
            to[b + c] += part[3][i];
        }
    }
}

static void general_adjoint(const qb__joseph_brick *brick, const qb__fan *f, size_t r0, size_t r1,
                            const float *values) {
    const size_t steps[3] = {brick->stride, (brick->n[0] + 2) * brick->stride, 1};
    for (size_t r = r0; r < r1; r += WIDTH) {
        const size_t count = r1 - r < WIDTH ? r1 - r : WIDTH;
        const vector value = vector_load_some(values + r, lanes_first(count));
        for (int axis = 0; axis < 3; axis++) {
            const unsigned chosen = rows_of_axis(f, r, count, axis);
            rays ray;
            tap t;
            if (!chosen) continue;
            rays_of(brick, f, r, count, axis, chosen, &ray);
            for (size_t k = 0; k < brick->n[axis]; k++) {
                if (!tap_of(brick, &ray, k, &t)) continue;
                scatter(brick->data, steps, &ray, &t, k, value);
            }
        }
    }
}
