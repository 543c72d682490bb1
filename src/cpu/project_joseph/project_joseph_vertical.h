/* SPDX-License-Identifier: MIT */
/* project_joseph for columns of rays above one another: along the rows only z changes. In every voxel plane they lie
 * between the same two lines along z, so the two lines are blended once for all rows and then resampled; the adjoint
 * does the same in reverse. See project_joseph_body.h for the vectors. */
#pragma once

/* Zeros on both sides of a line that is resampled, and of a column's values; LINE is the longest stride of a brick. */
enum { PAD = 96, LINE = 144 };

/* Largest rounding error of a position in single precision. */
#define SLACK 1e-3

/* The rays of a fan in one plane of a brick: between the lines at `lines` and `lines + beside`, with the ray of a row
 * at z = z0 + row dz above the brick's first voxel. */
typedef struct crossing {
    float *line;
    size_t neighbour; /* floats from the first line to the second */
    float share;      /* weight of the second line */
    double z0, dz;
} crossing;

/* A fan whose rays lie above one another, and its main axis. t = (plane - from) inverse is the position of a plane
 * along the rays. */
typedef struct vertical {
    const qb__fan *fan;
    float *rays; /* sums or values: row r is at rays[r] */
    int axis;
    double from, inverse;
} vertical;

static bool vertical_of(const qb__fan *f, size_t r0, size_t r1, vertical *u) {
    if (f->origin_step[0] != 0 || f->origin_step[1] != 0) return false;
    if (f->along_step[0] != 0 || f->along_step[1] != 0) return false;
    if (qb__fan_axis(f, (double)r0) > 1 || qb__fan_axis(f, (double)(r1 - 1)) > 1) return false;
    const int axis = qb__fan_axis(f, (double)r0);
    *u = (vertical){.fan = f, .axis = axis, .from = f->origin[axis], .inverse = 1 / f->along[axis]};
    return true;
}

/* False if the rays pass outside the brick in plane k. */
INLINE bool cross(const qb__joseph_brick *b, const vertical *u, size_t k, crossing *c) {
    const qb__fan *f = u->fan;
    const int other = 1 - u->axis;
    const double t = ((double)(b->at[u->axis] + k) - u->from) * u->inverse;
    const double at = f->origin[other] + t * f->along[other] - (double)b->at[other];
    if (!(at > -1 && at < (double)b->n[other])) return false;
    int below = (int)(at + 1); /* counted from one before the brick; n - 1e-16 + 1 rounds up */
    if (below > (int)b->n[other]) below = (int)b->n[other];
    const size_t steps[2] = {b->stride, (b->n[0] + 2) * b->stride};
    c->line = b->data + (k + 1) * steps[u->axis] + (size_t)below * steps[other];
    c->neighbour = steps[other];
    c->share = (float)(at + 1 - below);
    c->z0 = f->origin[2] + t * f->along[2] - (double)b->at[2];
    c->dz = f->origin_step[2] + t * f->along_step[2];
    return true;
}

/* The rows *first <= r < *end that are less than a voxel outside the brick. */
INLINE void clip_rows(const qb__joseph_brick *b, const crossing *c, size_t *first, size_t *end) {
    const double inverse = 1 / c->dz; /* infinite: all rows or none */
    double low = (-1 - c->z0) * inverse, high = ((double)b->n[2] - c->z0) * inverse;
    if (low > high) {
        const double other = low;
        low = high, high = other;
    }
    if (!(low < (double)*end && high > (double)*first)) {
        *end = *first;
        return;
    }
    if (low >= (double)*first) *first = (size_t)low + 1;
    if (high < (double)*end) *end = (size_t)ceil(high);
}

/* sum[r] += value of the line at z0 + r dz; voxel z of the line is at zero[z]. */
INLINE void resample(const crossing *c, const float *zero, size_t first, size_t end, float *sums) {
    const bool near = (WIDTH - 1) * fabs(c->dz) + 2.1 < 2 * WIDTH;
    const vector step = vector_mul(vector_place(), vector_set1((float)c->dz));
    for (size_t r = first; r < end; r += WIDTH) {
        const size_t count = end - r < WIDTH ? end - r : WIDTH;
        const lanes on = lanes_first(count);
        const double from = c->z0 + (double)r * c->dz;
        const double lowest = c->dz < 0 ? from + (double)(count - 1) * c->dz : from;
        const double base = floor(lowest - SLACK);
        const vector z = vector_add(step, vector_set1((float)(from - base)));
        const vector whole = vector_floor(z), share = vector_sub(z, whole);
        const integers index = integers_of(whole);
        const float *line = zero + (ptrdiff_t)base;
        vector a, d;
        if (near)
            window_two(line, index, &a, &d);
        else
            gather_two(line, index, on, &a, &d);
        const vector value = vector_fma(share, vector_sub(d, a), a);
        vector_store_some(sums + r, on, vector_add(vector_load_some(sums + r, on), value));
    }
}

/* The next column usually lies between the second line and the one after it. */
INLINE void fetch_ahead(const crossing *c, size_t i) {
    __builtin_prefetch((const void *)((uintptr_t)c->line + (2 * c->neighbour + i) * sizeof(float)));
}

/* Range of a line that rows first <= r < end read, in floats of the line, which begin one before voxel 0. */
INLINE void part_of_line(const qb__joseph_brick *b, const crossing *c, size_t first, size_t end, size_t *from,
                         size_t *last) {
    double low = c->z0 + (double)first * c->dz, high = c->z0 + (double)(end - 1) * c->dz;
    if (low > high) {
        const double other = low;
        low = high, high = other;
    }
    *from = low > 0 ? (size_t)(low + 1) / WIDTH * WIDTH : 0;
    *last = high + 3 < (double)b->stride ? (size_t)(high + 3) : b->stride;
}

/* Blend the two lines in the range that rows first <= r < end read. */
INLINE void blend(const qb__joseph_brick *b, const crossing *c, size_t first, size_t end, float *zero) {
    size_t from, last;
    part_of_line(b, c, first, end, &from, &last);
    const vector share = vector_set1(c->share);
    float *to = zero - 1;
    for (size_t i = from; i < last; i += WIDTH) {
        const vector a = vector_load(c->line + i), d = vector_load(c->line + c->neighbour + i);
        vector_store(to + i, vector_fma(share, vector_sub(d, a), a));
        fetch_ahead(c, i);
    }
}

/* Plane by plane, so that lines shared by neighbouring columns stay in the cache. */
static void vertical_forward(const qb__joseph_brick *b, const vertical *fans, size_t count, int axis, size_t r0,
                             size_t r1, float *scratch) {
    for (size_t k = 0; k < b->n[axis]; k++) {
        for (size_t i = 0; i < count; i++) {
            crossing c;
            size_t first = r0, end = r1;
            if (fans[i].axis != axis || !cross(b, &fans[i], k, &c)) continue;
            clip_rows(b, &c, &first, &end);
            if (first >= end) continue;
            blend(b, &c, first, end, scratch + PAD + 1);
            resample(&c, scratch + PAD + 1, first, end, fans[i].rays);
        }
    }
}

/* ---- the adjoint ---- */

/* Where rows are nearly one voxel apart, lane l takes rows l, l + 1, ... of a few, with weights by their distances, most
 * of which are 0: that needs no permutation. Number of these rows for voxels `inverse` rows apart; 0 if windows are
 * faster. */
INLINE int rows_in_turn(double inverse) {
    const double rows = ceil(2 * inverse + (WIDTH - 1) * fabs(inverse - 1) + SLACK);
    return inverse > 0 && rows <= MOST_IN_TURN ? (int)rows : 0;
}

/* What the voxels at row + l inverse take from them. */
INLINE vector take_in_turn(double row, double inverse, vector slope, const float *values, int rows) {
    const double drift = (WIDTH - 1) * (inverse - 1);
    const double first = floor(row - inverse - SLACK + (drift < 0 ? drift : 0)) + 1;
    const vector one = vector_set1(1), zero = vector_set1(0);
    const vector step = vector_mul(vector_place(), vector_set1((float)(1 - inverse)));
    vector away = vector_add(step, vector_set1((float)(first - row))), sum = zero;
    for (int j = 0; j < rows; j++) {
        const vector hat = vector_sub(one, vector_mul(slope, vector_abs(away)));
        sum = vector_fma(vector_max(hat, zero), vector_load(values + (ptrdiff_t)first + j), sum);
        away = vector_add(away, one);
    }
    return sum;
}

/* The same by windows. */
INLINE vector take_by_windows(double row, double inverse, vector slope, const float *values) {
    const double reach = fabs(inverse), before = row - reach; /* the nearest row that does not touch voxel 0 */
    const int taps = (int)ceil(2 * reach);
    const double lowest = inverse < 0 ? before + (WIDTH - 1) * inverse : before;
    const double base = floor(lowest - SLACK);
    const vector step = vector_mul(vector_place(), vector_set1((float)inverse));
    const vector at = vector_add(step, vector_set1((float)(before - base)));
    const vector whole = vector_floor(at), one = vector_set1(1);
    const integers index = integers_of(whole);
    /* Distance of the first touched row before the middle of the hat. */
    vector away = vector_sub(vector_add(vector_sub(whole, at), one), vector_set1((float)reach));
    vector sum = vector_set1(0);
    const float *rows = values + ((ptrdiff_t)base + 1);
    for (int j = 0; j < taps; j++) {
        const vector hat = vector_sub(one, vector_mul(slope, vector_abs(away)));
        sum = vector_fma(vector_max(hat, vector_set1(0)), window(rows + j, index), sum);
        away = vector_add(away, one);
    }
    return sum;
}

/* Voxel z takes from row r the hat function of half-width 1: max(0, 1 - |z0 + r dz - z|), for rows less than 1 / |dz|
 * from (z - z0) / dz. values[r] are zero outside the rows. For few rows per voxel. */
INLINE void spread_some(const qb__joseph_brick *b, const crossing *c, size_t first, size_t end, const float *values,
                        int in_turn) {
    const double inverse = 1 / c->dz;
    const vector slope = vector_set1((float)fabs(c->dz)), share = vector_set1(c->share);
    size_t from, last;
    part_of_line(b, c, first, end, &from, &last);
    for (size_t i = from; i < last; i += WIDTH) {
        const double row = ((double)i - 1 - c->z0) * inverse;
        const vector sum =
            in_turn ? take_in_turn(row, inverse, slope, values, in_turn) : take_by_windows(row, inverse, slope, values);
        const vector neighbour = vector_mul(share, sum);
        float *to = c->line + i;
        vector_store(to, vector_add(vector_load(to), vector_sub(sum, neighbour)));
        to += c->neighbour;
        vector_store(to, vector_add(vector_load(to), neighbour));
    }
}

/* Loops of a known length are faster. */
INLINE void spread_near(const qb__joseph_brick *b, const crossing *c, size_t first, size_t end, const float *values) {
    const int in_turn = rows_in_turn(1 / c->dz);
    if (in_turn == 3)
        spread_some(b, c, first, end, values, 3);
    else if (in_turn == 4)
        spread_some(b, c, first, end, values, 4);
    else
        spread_some(b, c, first, end, values, 0);
}

/* For many rows per voxel, or many voxels per row: row by row into `zero`, whose voxel z is at zero[z]. */
static void spread_far(const qb__joseph_brick *b, const crossing *c, size_t first, size_t end, const float *values,
                       float *zero) {
    float *line = zero - 1;
    memset(line, 0, b->stride * sizeof *line);
    for (size_t r = first; r < end; r++) {
        const double z = c->z0 + (double)r * c->dz, below = floor(z);
        const float share = (float)(z - below), value = values[r];
        if (!(below >= -1 && below < (double)b->n[2])) continue;
        zero[(ptrdiff_t)below] += (1 - share) * value;
        zero[(ptrdiff_t)below + 1] += share * value;
    }
    for (size_t i = 0; i < b->stride; i++) {
        c->line[i] += (1 - c->share) * line[i];
        c->line[i + c->neighbour] += c->share * line[i];
    }
}

static void vertical_adjoint(const qb__joseph_brick *b, const vertical *fans, size_t count, int axis, size_t r0,
                             size_t r1, float *scratch) {
    float *zero = scratch + PAD + 1, *copies = scratch + LINE + 3 * PAD;
    for (size_t k = 0; k < b->n[axis]; k++) {
        for (size_t i = 0; i < count; i++) {
            crossing c;
            size_t first = 0, end = r1 - r0;
            if (fans[i].axis != axis || !cross(b, &fans[i], k, &c)) continue;
            c.z0 += (double)r0 * c.dz;
            clip_rows(b, &c, &first, &end);
            if (first >= end) continue;
            const float *copy = copies + i * (r1 - r0 + PAD);
            if (fabs(c.dz) > 0.5 && fabs(c.dz) < 16)
                spread_near(b, &c, first, end, copy);
            else
                spread_far(b, &c, first, end, copy, zero);
        }
    }
}

/* Copies of the columns' rows, from row r0 on, with zeros between them. */
static void copy_columns(const vertical *fans, size_t count, size_t r0, size_t r1, float *scratch) {
    float *to = scratch + LINE + 3 * PAD;
    memset(to - PAD, 0, PAD * sizeof *to);
    for (size_t i = 0; i < count; i++, to += r1 - r0 + PAD) {
        memcpy(to, fans[i].rays + r0, (r1 - r0) * sizeof *to);
        memset(to + (r1 - r0), 0, PAD * sizeof *to);
    }
}
