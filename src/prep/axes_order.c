/* SPDX-License-Identifier: MIT */
#include "prep/row_shift.h"

#include <math.h>

typedef struct block {
    const float *values;
    size_t n[3], step[3];
} block;

static double sum_along(const block *b, size_t start, int axis) {
    double sum = 0;
    for (size_t i = 0; i < b->n[axis]; i++) sum += (double)b->values[start + i * b->step[axis]];
    return sum;
}

/* Variation of the sums over columns from view to view, relative to their mean. */
static double variation(const block *b, int view, int column) {
    const int row = 3 - view - column;
    double all = 0, varied = 0;
    for (size_t r = 0; r < b->n[row]; r++) {
        double sum = 0, square = 0;
        for (size_t v = 0; v < b->n[view]; v++) {
            const double mass = sum_along(b, r * b->step[row] + v * b->step[view], column);
            sum += mass, square += mass * mass;
        }
        const double mean = sum / (double)b->n[view];
        all += mean, varied += fmax(square / (double)b->n[view] - mean * mean, 0);
    }
    const double rows = (double)b->n[row];
    return all > 0 ? sqrt(varied / rows) / (all / rows) : INFINITY;
}

/* Mass at the first and last position of an axis, relative to the mean of all. */
static double ends_of(const block *b, int axis) {
    const int other = axis == 0 ? 1 : 0, third = 3 - axis - other;
    const size_t last = (b->n[axis] - 1) * b->step[axis];
    double ends = 0, all = 0;
    for (size_t i = 0; i < b->n[other]; i++)
        for (size_t j = 0; j < b->n[third]; j++) {
            const size_t start = i * b->step[other] + j * b->step[third];
            ends += fabs((double)b->values[start]) + fabs((double)b->values[start + last]);
            all += sum_along(b, start, axis);
        }
    return all > 0 ? 0.5 * ends / (all / (double)b->n[axis]) : INFINITY;
}

bool qb__axes_order_other(const float *values, const size_t n[3], qb__axis axes[3], bool *sure) {
    const double DIFFERENT = 0.1, EQUAL = 0.05, TIMES = 4, AIR = 0.12, ALIKE = 3;
    const block b = {values, {n[0], n[1], n[2]}, {n[1] * n[2], n[2], 1}};
    const double stated = variation(&b, 0, 2);
    double best = INFINITY, next = INFINITY;
    int view = 0, column = 2;
    if (n[0] < 8 || n[1] < 8 || n[2] < 8 || !(stated > DIFFERENT) || isinf(stated)) return false;
    for (int v = 0; v < 3; v++)
        for (int c = 0; c < 3; c++) {
            if (c == v || (v == 0 && c == 2) || ends_of(&b, c) > AIR) continue;
            const double varied = variation(&b, v, c);
            if (varied < best)
                next = best, best = varied, view = v, column = c;
            else
                next = fmin(next, varied);
        }
    if (!(best < EQUAL) || !(stated > TIMES * best)) return false;
    axes[0] = axes[1] = axes[2] = QB__AXIS_ROW;
    axes[view] = QB__AXIS_VIEW, axes[column] = QB__AXIS_COLUMN;
    *sure = next > fmax(ALIKE * best, best + 0.01);
    return true;
}
