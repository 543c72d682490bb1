/* SPDX-License-Identifier: MIT */
#include "geometry/partition.h"

#include <math.h>

/* Kernels compute the row in single precision with an integer base. The result may be wrong by this number of pixels,
 * and then one more row is read. */
static const double slack = 1e-2;

static double at(const double *row, double x, double y, double z) {
    return row[0] * x + row[1] * y + row[2] * z + row[3];
}

qb__reach qb__reach_of_slice(const qb__rows_problem *p, size_t z) {
    qb__reach reach = {INFINITY, -INFINITY};
    for (size_t i = 0; i < 4 * p->views; i++) {
        const double *m = p->matrix[i / 4];
        const double x = i & 1 ? (double)p->nx - 1 : 0, y = i & 2 ? (double)p->ny - 1 : 0;
        const double row = at(m + 4, x, y, (double)z) / at(m + 8, x, y, (double)z);
        if (row < reach.low) reach.low = row;
        if (row > reach.high) reach.high = row;
    }
    return reach;
}

qb__rows qb__rows_between(const qb__rows_problem *p, qb__reach first, qb__reach last) {
    const double most = (double)p->rows;
    const double low = floor(fmin(first.low, last.low) - slack);
    const double high = floor(fmax(first.high, last.high) + slack) + 2;
    if (!(low < most && high > 0)) return (qb__rows){0, 0};
    return (qb__rows){low > 0 ? (size_t)low : 0, high < most ? (size_t)high : p->rows};
}

double qb__reach_share(qb__reach reach, const bool *marked, size_t rows) {
    enum { PLACES = 64 };
    double all = 0, hit = 0;
    for (int i = 0; i < PLACES; i++) {
        const double row = reach.low + (i + 0.5) / PLACES * (reach.high - reach.low), first = floor(row);
        for (int side = 0; side < 2; side++) {
            const double weight = side ? row - first : first + 1 - row, at = first + side;
            if (!(at >= 0 && at < (double)rows)) continue;
            all += weight;
            hit += marked[(size_t)at] ? weight : 0;
        }
    }
    return all > 0 ? hit / all : 0;
}

qb__rows qb__rows_of_slab(const qb__rows_problem *p, size_t z0, size_t z1) {
    if (z0 >= z1) return (qb__rows){0, 0};
    return qb__rows_between(p, qb__reach_of_slice(p, z0), qb__reach_of_slice(p, z1 - 1));
}
