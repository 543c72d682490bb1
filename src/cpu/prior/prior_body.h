/* SPDX-License-Identifier: MIT */
/* The loop of cpu/prior/prior.h, for LANES_COUNT voxels of a line at a time. The including file sets LANES_COUNT. */
#include <string.h>

#include "cpu/icd/icd_lanes.h"
#include "cpu/prior/prior.h"

/* Lines are handled in parts of STRIP columns. Column x of a part that begins at x0 is at HEAD + x - x0. Vectors may
 * read and write some columns more. */
enum { STRIP = 238, HEAD = 2, ROOM = HEAD + STRIP + HEAD + 2 * 16 };

typedef float columns[ROOM];

/* The neighbours of a line's voxels in one direction, in another slice. */
typedef struct beyond {
    const float *row, *inside; /* at the columns of the voxels */
    float weight;
} beyond;

/* A part of a line, of the lines around it, and the curvatures of the pairs in its slice. A pair has the same curvature
 * for both of its voxels, so it is computed once. The neighbour is -1, 0 or 1 column to the right: [0], [1], [2]. */
typedef struct strip {
    size_t x0, count;
    columns store[9], inside[3]; /* inside: 1 if a column and its neighbour are columns of the volume, or else 0 */
    float *row[3][3];            /* [slice][row]: the voxels before, at and after the line; 0 outside the volume */
    float there[3][3];           /* 1, or 0 outside the volume */
    columns along;               /* pairs of a voxel and the next one in the line */
    columns pairs[2][3];
    columns *above, *below; /* pairs of the row before and the line, of the line and the row after: two of pairs[] */
    beyond beyond[18];
    size_t beyonds;
} strip;

LANES_INLINE lanes curvature_at(const qb__prior_numbers *b, lanes log_u, lanes r) {
    const lanes more = 1.0f + r, c = b->scale * (b->q + b->p * r) / (more * more);
    return b->pole == 0 ? c : c * lanes_exp2(log_u * b->pole);
}

/* Curvature of a pair with weight 1 and difference d. */
LANES_INLINE lanes curvature_of(const qb__prior_numbers *b, lanes d) {
    const lanes log_u = lanes_log2(lanes_largest(lanes_size(d) * b->per_sigma, lanes_all(b->least)));
    return curvature_at(b, log_u, lanes_exp2((log_u - b->log_t) * b->power));
}

/* Cost of a pair with weight 1 and difference d. */
LANES_INLINE lanes cost_of(const qb__prior_numbers *b, lanes d) {
    const lanes size = lanes_size(d) * b->per_sigma, log_u = lanes_log2(lanes_largest(size, lanes_all(b->least)));
    const lanes r = lanes_exp2((log_u - b->log_t) * b->power);
    const lanes far = lanes_exp2(log_u * b->p) * r / ((1.0f + r) * b->p) + b->offset;
    return lanes_pick(lanes_below(size, lanes_all(b->least)), 0.5f * b->close * size * size, far);
}

/* ---- the parts of lines ---- */

static void begin_strip(const qb__prior_volume *v, size_t x0, strip *s) {
    memset(s, 0, sizeof *s);
    s->x0 = x0;
    s->count = v->n[0] - x0 < STRIP ? v->n[0] - x0 : STRIP;
    for (size_t i = 0; i < 9; i++) s->row[i / 3][i % 3] = s->store[i];
    s->above = s->pairs[0], s->below = s->pairs[1];
    for (size_t at = HEAD - 1; at < s->count + HEAD + 1; at++) {
        const size_t x = x0 + at - HEAD, n = v->n[0]; /* before column 0: SIZE_MAX */
        s->inside[0][at] = x < n && x > 0;
        s->inside[1][at] = x < n;
        s->inside[2][at] = x < n && x + 1 < n;
    }
}

/* Loads row `line` + r - 1 of the volume's three slices into row[.][r]. */
static void load_rows(const qb__prior_volume *v, size_t line, size_t r, strip *s) {
    const size_t y = line % v->n[1] + r, z = line / v->n[1]; /* y and z count from one before the volume */
    const size_t left = s->x0 > 0, right = s->x0 + s->count < v->n[0];
    for (size_t k = 0; k < 3; k++) {
        float *to = s->row[k][r] + HEAD - left;
        const bool there = y > 0 && y <= v->n[1] && z + k > 0 && z + k <= v->n[2];
        const size_t count = left + s->count + right;
        s->there[k][r] = there;
        if (there)
            memcpy(to, v->x + ((z + k - 1) * v->n[1] + y - 1) * v->n[0] + s->x0 - left, count * sizeof *to);
        else
            memset(to, 0, count * sizeof *to);
    }
}

/* The pairs of a line and the one after it, which are rows r and r + 1 now. */
static void pair_rows(const qb__prior_numbers *b, strip *s, size_t r, columns *to) {
    const float there = s->there[1][r] * s->there[1][r + 1];
    for (size_t side = 0; side < 3; side++) {
        const float weight = there * (side == 1 ? b->nearest : b->diagonal);
        const float *from = s->row[1][r], *other = s->row[1][r + 1] + side - 1;
        if (!(weight > 0)) memset(to[side], 0, sizeof to[side]);
        for (size_t at = HEAD - 1; weight > 0 && at < s->count + HEAD + 1; at += LANES_COUNT)
            lanes_put_anywhere(to[side] + at, lanes_from(s->inside[side] + at) * weight *
                                                  curvature_of(b, lanes_from(from + at) - lanes_from(other + at)));
    }
}

static void pair_line(const qb__prior_numbers *b, strip *s) {
    const float *row = s->row[1][1];
    for (size_t at = HEAD - 1; at < s->count + HEAD; at += LANES_COUNT)
        lanes_put_anywhere(s->along + at, lanes_from(s->inside[2] + at) * b->nearest *
                                              curvature_of(b, lanes_from(row + at) - lanes_from(row + at + 1)));
}

/* Weight of the pairs with a row of another slice. */
static float weight_beyond(const qb__prior_numbers *b, size_t row, size_t side) {
    return side == 1 ? (row == 1 ? b->interslice : b->edge) : row == 1 ? b->edge : b->corner;
}

static void list_beyond(const qb__prior_numbers *b, strip *s) {
    static const size_t order[3] = {1, 0, 2};
    s->beyonds = 0;
    for (size_t i = 0; i < 18; i++) {
        const size_t slice = i / 9 * 2, row = order[i / 3 % 3], side = order[i % 3];
        const float weight = s->there[slice][row] * weight_beyond(b, row, side);
        if (weight > 0) s->beyond[s->beyonds++] = (beyond){s->row[slice][row] + side - 1, s->inside[side], weight};
    }
}

/* Goes to a line: the next one, or, if `fresh`, any. */
static void go_to(const qb__prior_numbers *b, const qb__prior_volume *v, size_t line, bool fresh, strip *s) {
    if (fresh || line % v->n[1] == 0) {
        load_rows(v, line, 0, s);
        load_rows(v, line, 1, s);
        pair_rows(b, s, 0, s->above);
    } else {
        columns *const above = s->above;
        for (size_t k = 0; k < 3; k++) {
            float *const first = s->row[k][0];
            for (size_t r = 0; r < 2; r++) s->row[k][r] = s->row[k][r + 1], s->there[k][r] = s->there[k][r + 1];
            s->row[k][2] = first;
        }
        s->above = s->below;
        s->below = above;
    }
    load_rows(v, line, 2, s);
    pair_rows(b, s, 1, s->below);
    pair_line(b, s);
    list_beyond(b, s);
}

/* ---- the voxels ---- */

typedef struct pulls {
    lanes slope, curve;
} pulls;

LANES_INLINE void pull(pulls *sum, lanes c, lanes d) {
    sum->slope += c * d;
    sum->curve += c;
}

/* The pairs of the voxels at `at`. */
LANES_INLINE pulls pulls_of(const qb__prior_numbers *b, const strip *s, size_t at, lanes x) {
    const float *before = s->row[1][0] + at, *here = s->row[1][1] + at, *after = s->row[1][2] + at;
    pulls sum = {{0}, {0}};
    pull(&sum, lanes_from(s->above[1] + at), x - lanes_from(before));
    pull(&sum, lanes_from(s->above[2] + at - 1), x - lanes_from(before - 1));
    pull(&sum, lanes_from(s->above[0] + at + 1), x - lanes_from(before + 1));
    pull(&sum, lanes_from(s->along + at - 1), x - lanes_from(here - 1));
    pull(&sum, lanes_from(s->along + at), x - lanes_from(here + 1));
    pull(&sum, lanes_from(s->below[1] + at), x - lanes_from(after));
    pull(&sum, lanes_from(s->below[0] + at), x - lanes_from(after - 1));
    pull(&sum, lanes_from(s->below[2] + at), x - lanes_from(after + 1));
    for (const beyond *o = s->beyond; o < s->beyond + s->beyonds; o++) {
        const lanes d = x - lanes_from(o->row + at);
        pull(&sum, lanes_from(o->inside + at) * o->weight * curvature_of(b, d), d);
    }
    return sum;
}

/* The cost of the pairs with neighbours that come later in the volume. */
LANES_INLINE lanes cost_at(const qb__prior_numbers *b, const strip *s, size_t at, lanes x) {
    lanes sum = {0};
    for (size_t i = 5; i < 18; i++) {
        const size_t slice = 1 + i / 9, row = i / 3 % 3, side = i % 3;
        const bool same = slice == 1;
        const float weight = s->there[slice][row] * (!same                   ? weight_beyond(b, row, side)
                                                     : row == 1 || side == 1 ? b->nearest
                                                                             : b->diagonal);
        if (weight > 0)
            sum += lanes_from(s->inside[side] + at) * weight *
                   cost_of(b, x - lanes_from(s->row[slice][row] + at + side - 1));
    }
    return sum;
}

LANES_INLINE lanes some(const float *from, size_t count) {
    float all[LANES_COUNT] = {0};
    if (count == LANES_COUNT) return lanes_from(from);
    memcpy(all, from, count * sizeof(float));
    return lanes_from(all);
}

LANES_INLINE void put_some(float *to, lanes values, size_t count) {
    if (count == LANES_COUNT)
        lanes_put_anywhere(to, values);
    else
        memcpy(to, &values, count * sizeof(float));
}

/* The voxels from i on, which are at `at` in the strip. */
LANES_INLINE void step_some(const qb__prior_numbers *b, const qb__prior_volume *v, const strip *s, size_t i, size_t at,
                            size_t count, double *cost) {
    const lanes x = lanes_from(s->row[1][1] + at);
    pulls sum = pulls_of(b, s, at, x);
    lanes costs = {0};
    if (v->cost) costs = cost_at(b, s, at, x);
    sum.curve = 2 * sum.curve;
    if (v->toward) {
        const lanes d = x - some(v->toward + i, count);
        sum.slope += b->pull * d;
        sum.curve += b->pull;
        costs += 0.5f * b->pull * d * d;
    }
    const lanes slope = b->data * some(v->slope + i, count) + sum.slope;
    for (size_t k = 0; v->cost && k < count; k++) *cost += (double)costs[k];
    if (v->only_slopes) {
        put_some(v->slope + i, slope, count);
        put_some(v->curve + i, sum.curve, count);
        return;
    }
    const lanes data = some(v->curve + i, count);
    lanes next = x - slope / (data + sum.curve);
    if (v->nonneg) next = lanes_above_zero(next);
    put_some(v->slope + i, lanes_pick(lanes_below(lanes_all(0), data), next, x), count);
}

static void step_down(const qb__prior_numbers *b, const qb__prior_volume *v, size_t first, size_t end, double *cost) {
    strip s;
    for (size_t x0 = 0; x0 < v->n[0]; x0 += STRIP) {
        begin_strip(v, x0, &s);
        for (size_t line = first / v->n[0]; line * v->n[0] < end; line++) {
            const size_t at0 = line * v->n[0] + x0, stop = at0 + s.count < end ? at0 + s.count : end;
            go_to(b, v, line, line == first / v->n[0], &s);
            for (size_t i = at0 > first ? at0 : first; i < stop; i += LANES_COUNT)
                step_some(b, v, &s, i, HEAD + i - at0, stop - i < LANES_COUNT ? stop - i : LANES_COUNT, cost);
        }
    }
}
