/* SPDX-License-Identifier: MIT */
/* project_joseph for rays that each stay at one height, slice by slice: a vector holds neighbouring columns (forward)
 * or neighbouring voxels (adjoint). See project_joseph_body.h for the vectors. */
#pragma once

/* Zero floats before and after the columns of a tile, which windows read. */
enum { FLAT_PAD = 384 };

/* Crossing of a column's ray with plane 0, and its movement per plane. */
INLINE void flat_ray(const qb__flat_view *v, int axis, size_t column, double *place, double *slope) {
    const int other = 1 - axis;
    const double c = (double)column;
    *slope = (v->along[other] + c * v->along_step[other]) / (v->along[axis] + c * v->along_step[axis]);
    *place = v->origin[other] + c * v->origin_step[other] - (v->origin[axis] + c * v->origin_step[axis]) * *slope;
}

/* ---- forward ---- */

/* WIDTH neighbouring columns in some planes. Positions count from voxel `base` on, so that single precision is
 * enough. */
typedef struct flat_bundle {
    vector place, slope;    /* position in the first plane; change per plane */
    float low, low_slope;   /* position and slope of the lane with the lowest position */
    float high, high_slope; /* position and slope of the lane with the highest position */
    ptrdiff_t base;
} flat_bundle;

static bool flat_bundle_of(const qb__flat_view *view, int axis, size_t c0, size_t count, size_t k0, flat_bundle *b) {
    _Alignas(64) float place[WIDTH], slope[WIDTH];
    double at[WIDTH];
    for (size_t i = 0; i < WIDTH; i++) {
        double s;
        flat_ray(view, axis, c0 + (i < count ? i : count - 1), &at[i], &s);
        at[i] += (double)k0 * s;
        slope[i] = (float)s;
    }
    if (!(fabs(at[0]) < 1e6 && fabs(at[WIDTH - 1]) < 1e6)) return false;
    const double base = floor(at[0]);
    for (size_t i = 0; i < WIDTH; i++) place[i] = (float)(at[i] - base);
    const size_t low = place[0] <= place[WIDTH - 1] ? 0 : WIDTH - 1, high = WIDTH - 1 - low;
    *b = (flat_bundle){.place = vector_load(place),
                       .slope = vector_load(slope),
                       .low = place[low],
                       .low_slope = slope[low],
                       .high = place[high],
                       .high_slope = slope[high],
                       .base = (ptrdiff_t)base};
    return true;
}

/* All lanes are within 2 WIDTH voxels; outside the slice they read the zeros of its margin. */
INLINE vector flat_sum_near(const flat_bundle *b, const float *line, size_t pitch, size_t planes) {
    vector sum = vector_set1(0);
    line += b->base;
    for (size_t k = 0; k < planes; k++, line += pitch) {
        const float plane = (float)k, base = floorf(b->low + plane * b->low_slope - (float)SLACK);
        const vector at = vector_sub(vector_fma(b->slope, vector_set1(plane), b->place), vector_set1(base));
        const vector whole = vector_floor(at);
        vector a, d;
        window_two(line + (ptrdiff_t)base, integers_of(whole), &a, &d);
        sum = vector_add(sum, vector_fma(vector_sub(at, whole), vector_sub(d, a), a));
    }
    return sum;
}

INLINE vector flat_sum_far(const flat_bundle *b, const float *line, size_t pitch, size_t planes, size_t places) {
    const vector low = vector_set1((float)(-2 - b->base));
    const vector high = vector_set1(-(float)((ptrdiff_t)places + 1 - b->base)), zero = vector_set1(0);
    vector sum = zero;
    line += b->base;
    for (size_t k = 0; k < planes; k++, line += pitch) {
        vector at = vector_max(vector_fma(b->slope, vector_set1((float)k), b->place), low);
        at = vector_sub(zero, vector_max(vector_sub(zero, at), high));
        const vector whole = vector_floor(at);
        vector a, d;
        gather_two(line, integers_of(whole), lanes_first(WIDTH), &a, &d);
        sum = vector_add(sum, vector_fma(vector_sub(at, whole), vector_sub(d, a), a));
    }
    return sum;
}

static void flat_forward(const qb__flat_image *image, const qb__flat_view *view, int axis, size_t c0, size_t count,
                         size_t k0, size_t planes, float weight, float *sums) {
    const float *line = image->voxel + k0 * image->pitch;
    for (size_t i = 0; i < count; i += WIDTH) {
        const size_t some = count - i < WIDTH ? count - i : WIDTH;
        flat_bundle b;
        if (!flat_bundle_of(view, axis, c0 + i, some, k0, &b)) continue;
        const float last = (float)(planes - 1);
        const float low = b.low + (b.low_slope < 0 ? last * b.low_slope : 0);
        const float high = b.high + (b.high_slope > 0 ? last * b.high_slope : 0);
        if (!(high + (float)b.base > -2 && low + (float)b.base < (float)image->places + 1)) continue;
        const float here = b.high - b.low, there = here + last * (b.high_slope - b.low_slope);
        const bool near = fmaxf(here, there) + 2.1f < 2 * WIDTH && fminf(here, there) >= 0;
        const vector sum = near ? flat_sum_near(&b, line, image->pitch, planes)
                                : flat_sum_far(&b, line, image->pitch, planes, image->places);
        const lanes on = lanes_first(some);
        vector_store_some(sums + i, on, vector_fma(sum, vector_set1(weight), vector_load_some(sums + i, on)));
    }
}

/* ---- adjoint ---- */

/* The columns that a tile may see, in ascending order of their positions in it. */
typedef struct flat_columns {
    size_t count;
    float *place, *slope; /* position in the tile's first plane; change per plane */
    float *here, *value;  /* position in one plane; value of each column */
    float uneven;         /* largest deviation of a position from even spacing */
} flat_columns;

static void flat_order(const qb__flat_tile *t, const qb__flat_view *view, int axis, size_t c0, const float *values,
                       float weight, flat_columns *c) {
    double place, slope, first, last;
    const double plane = (double)t->plane0, from = (double)t->place0;
    flat_ray(view, axis, c0, &place, &slope), first = place + plane * slope;
    flat_ray(view, axis, c0 + c->count - 1, &place, &slope), last = place + plane * slope;
    const bool falls = last < first;
    for (size_t i = 0; i < c->count; i++) {
        const size_t to = falls ? c->count - 1 - i : i;
        flat_ray(view, axis, c0 + i, &place, &slope);
        c->place[to] = nearby(place + plane * slope - from);
        c->slope[to] = (float)slope;
        c->value[to] = weight * values[i];
    }
    memset(c->value - FLAT_PAD, 0, FLAT_PAD * sizeof *c->value);
    memset(c->value + c->count, 0, FLAT_PAD * sizeof *c->value);
}

/* Positions are evenly spaced in a parallel beam; in a fan they are quotients of two functions linear in the column. */
static float flat_uneven(const flat_columns *c, size_t planes) {
    const float steps = c->count > 1 ? (float)(c->count - 1) : 1;
    const float place = (c->place[c->count - 1] - c->place[0]) / steps;
    const float slope = (c->slope[c->count - 1] - c->slope[0]) / steps;
    float off = 0, more = 0;
    for (size_t i = 0; i < c->count; i++) {
        off = higher(off, fabsf(c->place[i] - (c->place[0] + (float)i * place)));
        more = higher(more, fabsf(c->slope[i] - (c->slope[0] + (float)i * slope)));
    }
    return 1e-3f + off + more * (float)planes;
}

/* A voxel takes from every column the hat function of half-width 1: max(0, 1 - |position - voxel|). */
static void flat_back_plane(const flat_columns *c, size_t places, float *line) {
    const float first = c->here[0], last = c->here[c->count - 1];
    if (!(last > -1 && first < (float)places)) return;
    const float gap = c->count > 1 ? (last - first) / (float)(c->count - 1) : 1, inverse = 1 / gap;
    const float reach = (1 + c->uneven) * inverse;
    const int taps = (int)ceilf(2 * reach);
    const bool near = (WIDTH - 1) * inverse + 2.1f < 2 * WIDTH;
    const size_t from = first > 1 ? (size_t)(first - 1) / WIDTH * WIDTH : 0;
    const size_t end = last + 1 < (float)places ? (size_t)(last + 1) + 1 : places;
    const vector one = vector_set1(1), zero = vector_set1(0);
    const vector step = vector_mul(vector_place(), vector_set1(inverse));
    for (size_t x = from; x < end; x += WIDTH) {
        const float nearest = ((float)x - first) * inverse - reach, base = floorf(nearest - (float)SLACK);
        const integers index = integers_of(vector_add(step, vector_set1(nearest - base)));
        const vector voxel = vector_add(vector_place(), vector_set1((float)x));
        const float *here = c->here + (ptrdiff_t)base + 1, *value = c->value + (ptrdiff_t)base + 1;
        vector sum = zero;
        for (int j = 0; j < taps; j++) {
            vector at, gives, unused;
            if (near) {
                at = window(here + j, index), gives = window(value + j, index);
            } else {
                gather_two(here + j, index, lanes_first(WIDTH), &at, &unused);
                gather_two(value + j, index, lanes_first(WIDTH), &gives, &unused);
            }
            const vector hat = vector_max(vector_sub(one, vector_abs(vector_sub(at, voxel))), zero);
            sum = vector_fma(hat, gives, sum);
        }
        vector_store(line + x, vector_add(vector_load(line + x), sum));
    }
}

static void flat_adjoint(const qb__flat_tile *t, const qb__flat_view *view, int axis, size_t c0, size_t count,
                         const float *values, float weight, void *scratch) {
    const size_t each = count + 2 * FLAT_PAD;
    float *at = (float *)scratch + FLAT_PAD;
    flat_columns c = {count, at, at + each, at + 2 * each, at + 3 * each, 0};
    flat_order(t, view, axis, c0, values, weight, &c);
    c.uneven = flat_uneven(&c, t->planes);
    for (size_t k = 0; k < t->planes; k++) {
        const vector plane = vector_set1((float)k);
        for (size_t i = 0; i < count; i += WIDTH)
            vector_store(c.here + i, vector_fma(vector_load(c.slope + i), plane, vector_load(c.place + i)));
        flat_back_plane(&c, t->places, t->voxel + k * t->pitch);
    }
}

static size_t flat_scratch_bytes(size_t columns) { return 4 * (columns + 2 * FLAT_PAD) * sizeof(float); }
