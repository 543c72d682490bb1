/* SPDX-License-Identifier: MIT */
#include "geometry/partition_cone.h"

#include <math.h>

/* Kernels compute the row in single precision with an integer base: they may land this much, in
 * pixels, beside the true place, and then read one row more. */
static const double slack = 1e-2;

static double at(const double *row, double x, double y, double z) {
    return row[0] * x + row[1] * y + row[2] * z + row[3];
}

static void rows_of_view(const qb__rows_problem *p, const double *m, size_t z0, size_t z1,
                         double *low, double *high) {
    for (int corner = 0; corner < 8; corner++) {
        double x = corner & 1 ? (double)p->nx - 1 : 0, y = corner & 2 ? (double)p->ny - 1 : 0;
        double z = (double)(corner & 4 ? z1 - 1 : z0);
        double row = at(m + 4, x, y, z) / at(m + 8, x, y, z);
        *low = fmin(*low, row);
        *high = fmax(*high, row);
    }
}

qb__rows qb__rows_of_slab(const qb__rows_problem *p, size_t z0, size_t z1) {
    double low = INFINITY, high = -INFINITY, most = (double)p->rows;
    for (size_t i = 0; i < p->views && z0 < z1; i++)
        rows_of_view(p, p->matrix[i], z0, z1, &low, &high);
    low = floor(low - slack);
    high = floor(high + slack) + 2;
    if (!(low < most && high > 0)) return (qb__rows){0, 0};
    return (qb__rows){low > 0 ? (size_t)low : 0, high < most ? (size_t)high : p->rows};
}
