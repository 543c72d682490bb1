/* SPDX-License-Identifier: MIT */
#include "geometry/partition_cone.h"

#include <math.h>

/* Kernels compute the row in single precision with an integer base: they may land this much, in
 * pixels, beside the true place, and then read one row more. */
static const double slack = 1e-2;

static void rows_of_view(const qb__matrix *matrix, const qb_grid *grid, size_t z0, size_t z1,
                         double *low, double *high) {
    for (int corner = 0; corner < 8; corner++) {
        double p[3];
        qb__matrix_apply(matrix, corner & 1 ? (double)grid->n[0] - 1 : 0,
                         corner & 2 ? (double)grid->n[1] - 1 : 0,
                         corner & 4 ? (double)z1 - 1 : (double)z0, p);
        *low = fmin(*low, p[1] / p[2]);
        *high = fmax(*high, p[1] / p[2]);
    }
}

qb__rows qb__rows_of_slab(const qb_geometry *geometry, const qb_grid *grid,
                          const qb__matrix *matrices, size_t z0, size_t z1) {
    double low = INFINITY, high = -INFINITY, most = (double)geometry->rows;
    for (size_t i = 0; i < geometry->views && z0 < z1; i++)
        rows_of_view(&matrices[i], grid, z0, z1, &low, &high);
    low = floor(low - slack);
    high = floor(high + slack) + 2;
    if (!(low < most && high > 0)) return (qb__rows){0, 0};
    return (qb__rows){low > 0 ? (size_t)low : 0, high < most ? (size_t)high : geometry->rows};
}

size_t qb__most_rows_of_slab(const qb_geometry *geometry, const qb_grid *grid,
                             const qb__matrix *matrices, size_t slices) {
    size_t most = 0;
    for (size_t z0 = 0; z0 < grid->n[2]; z0 += slices) {
        size_t z1 = z0 + slices < grid->n[2] ? z0 + slices : grid->n[2];
        qb__rows rows = qb__rows_of_slab(geometry, grid, matrices, z0, z1);
        if (rows.end - rows.first > most) most = rows.end - rows.first;
    }
    return most;
}
