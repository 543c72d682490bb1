/* SPDX-License-Identifier: MIT */
/* The loop of cpu/prior/prior.h, for sixteen voxels of a line at a time. */
#include <string.h>

#include "cpu/icd/icd_lanes.h"
#include "cpu/prior/prior.h"

enum { LANES = 16 };

/* Sixteen voxels and their neighbours. Pairs across the border of the volume have weight 0, and their pointers point to
 * a voxel of the volume. */
typedef struct around {
    const float *row[3][3]; /* [slice][row]: the same voxels in the slice and row before, this one, and the one after */
    float there[3][3];      /* 1, or 0 if there is no such row */
    lanes left, right;      /* 1, or 0 for the first (left) or last (right) voxel of a line */
} around;

typedef struct pulls {
    lanes slope, curve, cost;
} pulls;

LANES_INLINE lanes curvature_at(const qb__prior_numbers *b, lanes log_u, lanes r) {
    const lanes more = 1.0f + r, c = b->scale * (b->q + b->p * r) / (more * more);
    return b->pole == 0 ? c : c * lanes_exp2(log_u * b->pole);
}

/* A voxel and one neighbour. `cost`: the pair's cost is counted here and not at its other voxel. */
LANES_INLINE void pair(const qb__prior_numbers *b, lanes weight, lanes x, lanes neighbour, bool cost, pulls *sum) {
    const lanes d = x - neighbour, size = lanes_size(d) * b->per_sigma;
    const lanes u = lanes_largest(size, lanes_all(b->least)), log_u = lanes_log2(u);
    const lanes r = lanes_exp2((log_u - b->log_t) * b->power);
    const lanes c = weight * curvature_at(b, log_u, r);
    sum->slope += c * d;
    sum->curve += c;
    if (!cost) return;
    const lanes far = lanes_exp2(log_u * b->p) * r / ((1.0f + r) * b->p) + b->offset;
    sum->cost += weight * lanes_pick(lanes_below(size, lanes_all(b->least)), 0.5f * b->close * size * size, far);
}

/* One loop over all neighbours: written out 26 times, the pair would fill the instruction cache and take seconds to
 * compile. The cost of a pair is counted at the voxel that comes first. */
LANES_INLINE pulls pulls_of(const qb__prior_numbers *b, const around *a, lanes x, bool cost) {
    const struct {
        int slice, row;
        float across, sideways; /* weight of the neighbour in the same column; of those to the left and right */
    } lines[] = {{1, 0, b->nearest, b->diagonal}, {1, 1, 0, b->nearest},      {1, 2, b->nearest, b->diagonal},
                 {0, 1, b->interslice, b->edge},  {0, 0, b->edge, b->corner}, {0, 2, b->edge, b->corner},
                 {2, 1, b->interslice, b->edge},  {2, 0, b->edge, b->corner}, {2, 2, b->edge, b->corner}};
    const lanes inside[3] = {lanes_all(1), a->left, a->right};
    pulls sum = {{0}, {0}, {0}};
    for (size_t i = 0; i < 3 * sizeof lines / sizeof lines[0]; i++) {
        const int slice = lines[i / 3].slice, row = lines[i / 3].row, column = (int)(i % 3);
        const float weight = column == 0 ? lines[i / 3].across : lines[i / 3].sideways;
        const ptrdiff_t offset = column == 0 ? 0 : column == 1 ? -1 : 1;
        const bool later = 9 * slice + 3 * row + (int)offset > 9 + 3;
        if (!(weight > 0)) continue;
        pair(b, a->there[slice][row] * inside[column] * weight, x, lanes_from(a->row[slice][row] + offset),
             cost && later, &sum);
    }
    return sum;
}

/* Sets the pointers to the neighbouring lines; a missing line is replaced by the line of the voxels. */
static void look_around(const qb__prior_volume *v, size_t i, around *a) {
    const size_t row = v->n[0], plane = v->n[0] * v->n[1], y = i / row % v->n[1], z = i / plane;
    const bool rows[3] = {y > 0, true, y + 1 < v->n[1]}, slices[3] = {z > 0, true, z + 1 < v->n[2]};
    for (int s = 0; s < 3; s++)
        for (int r = 0; r < 3; r++) {
            const bool there = slices[s] && rows[r];
            a->there[s][r] = there;
            a->row[s][r] = v->x + (there ? i + (size_t)s * plane + (size_t)r * row - plane - row : i);
        }
}

/* Copies of the needed lines, for `count` voxels from column x on, where vectors would read beyond the end of the
 * line. */
typedef struct copies {
    float row[3][3][LANES + 2];
} copies;

static void copy_around(const qb__prior_volume *v, size_t x, size_t count, around *a, copies *c) {
    memset(c, 0, sizeof *c);
    const size_t left = x > 0, right = x + count < v->n[0];
    for (int s = 0; s < 3; s++)
        for (int r = 0; r < 3; r++) {
            memcpy(c->row[s][r] + 1 - left, a->row[s][r] - left, (left + count + right) * sizeof(float));
            a->row[s][r] = c->row[s][r] + 1;
        }
    if (x == 0) a->left[0] = 0;
    if (x + count == v->n[0]) a->right[count - 1] = 0;
}

LANES_INLINE lanes some(const float *from, size_t count) {
    float all[LANES] = {0};
    if (count == LANES) return lanes_from(from);
    memcpy(all, from, count * sizeof(float));
    return lanes_from(all);
}

static void put_some(float *to, lanes values, size_t count) { memcpy(to, &values, count * sizeof(float)); }

static void add_up(lanes values, size_t count, double *sum) {
    for (size_t j = 0; j < count; j++) *sum += (double)values[j];
}

static void sixteen(const qb__prior_numbers *b, const qb__prior_volume *v, size_t i, size_t count, double *sums) {
    const size_t column = i % v->n[0];
    around a;
    copies c;
    a.left = a.right = lanes_all(1);
    look_around(v, i, &a);
    if (column == 0 || count < LANES || column + LANES >= v->n[0]) copy_around(v, column, count, &a, &c);
    const lanes x = lanes_from(a.row[1][1]);
    pulls sum = pulls_of(b, &a, x, v->cost);
    sum.curve = 2 * sum.curve;
    if (v->toward) {
        const lanes d = x - some(v->toward + i, count);
        sum.slope += b->pull * d;
        sum.curve += b->pull;
        sum.cost += 0.5f * b->pull * d * d;
    }
    const lanes slope = b->data * some(v->slope + i, count) + sum.slope;
    if (v->cost) add_up(sum.cost, count, &sums[0]);
    if (v->only_slopes) {
        put_some(v->slope + i, slope, count);
        put_some(v->curve + i, sum.curve, count);
        return;
    }
    const lanes data = some(v->curve + i, count), curve = data + sum.curve;
    lanes next = x - slope / curve;
    if (v->nonneg) next = lanes_above_zero(next);
    next = lanes_pick(lanes_below(lanes_all(0), data), next, x);
    put_some(v->slope + i, next, count);
    const lanes step = next - x;
    add_up(0.5f * curve * step * step, count, &sums[1]);
}

static void step_down(const qb__prior_numbers *b, const qb__prior_volume *v, size_t first, size_t end, double *sums) {
    for (size_t i = first; i < end;) {
        const size_t left = v->n[0] - i % v->n[0], line = left < end - i ? left : end - i;
        const size_t count = line < LANES ? line : LANES;
        sixteen(b, v, i, count, sums);
        i += count;
    }
}
