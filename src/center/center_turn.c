/* SPDX-License-Identifier: MIT */
#include "center/center_turn.h"

#include <math.h>

typedef struct view_of {
    const float *row[3];
    size_t columns;
} view_of;

static view_of at(const float *sinograms, size_t views, size_t columns, size_t view) {
    view_of v = {.columns = columns};
    for (size_t r = 0; r < 3; r++) v.row[r] = sinograms + (r * views + view) * columns;
    return v;
}

/* A value smoothed over three columns; the derivatives are differences of such values. 0 < k < columns - 1. */
static double value(const view_of *v, int row, size_t k) {
    const float *x = v->row[row] + k;
    return 0.25 * (double)x[-1] + 0.5 * (double)x[0] + 0.25 * (double)x[1];
}

/* The value at a position between two columns. */
static double between(const view_of *v, int row, double place) {
    const size_t k = (size_t)place;
    const double part = place - (double)k;
    return (1 - part) * value(v, row, k) + part * value(v, row, k + 1);
}

static void add_pair(const view_of *a, const view_of *b, double weight, double column, double above,
                     qb__center_turn *t) {
    const double last = (double)a->columns - 4;
    for (size_t k = 3; k + 3 < a->columns; k++) {
        const double mirror = 2 * column - (double)k, x = (double)k - column;
        if (mirror < 3 || mirror > last) continue;
        const double here = value(a, 1, k), there = between(b, 1, mirror);
        const double dx =
            0.25 * (value(a, 1, k + 1) - value(a, 1, k - 1) + between(b, 1, mirror - 1) - between(b, 1, mirror + 1));
        const double dz = 0.25 * (value(a, 2, k) - value(a, 0, k) + between(b, 2, mirror) - between(b, 0, mirror));
        const double e = 2 * (above * dx - x * dz), s = 2 * dx, r = here - there;
        t->ss += weight * s * s;
        t->se += weight * s * e;
        t->ee += weight * e * e;
        t->s += weight * s * r;
        t->e += weight * e * r;
    }
}

void qb__center_turn_add(const float *sinograms, size_t views, size_t columns, const qb__center_pairs *pairs,
                         double column, double above, qb__center_turn *turn) {
    for (size_t p = 0; p < pairs->count; p++) {
        const view_of a = at(sinograms, views, columns, pairs->view[pairs->pair[p].i]);
        const view_of b = at(sinograms, views, columns, pairs->view[pairs->pair[p].j]);
        add_pair(&a, &b, pairs->pair[p].weight, column, above, turn);
    }
}

double qb__center_turn_angle(const qb__center_turn *t) {
    const double determinant = t->ss * t->ee - t->se * t->se;
    if (!(determinant > 1e-6 * t->ss * t->ee)) return NAN;
    return (t->ss * t->e - t->se * t->s) / determinant;
}
