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

size_t qb__cut_slabs(const qb__layers *layers, size_t nz, size_t thickness, size_t *cut) {
    size_t n = 0, down = 0;
    cut[n++] = 0;
    if (thickness < nz) {
        while (layers->below > (down + 1) * thickness) down++;
        for (; down > 0; down--)
            if (layers->below - down * thickness < layers->above)
                cut[n++] = layers->below - down * thickness;
        for (size_t at = layers->above; at < nz; at += thickness)
            if (at > 0) cut[n++] = at;
    }
    cut[n] = nz;
    return n;
}

size_t qb__thinner_slab(const qb__layers *layers, size_t nz, size_t thickness) {
    size_t step = layers->thickness;
    if (thickness > nz) thickness = nz;
    if (thickness > step && step > 1) return (thickness - 1) / step * step;
    if (step > 1 || thickness < 2) return thickness / 2;
    size_t slabs = (nz + thickness - 1) / thickness; /* evenly thick, more and more of them */
    for (size_t more = slabs + 1 + slabs / 8;; more++) {
        size_t next = (nz + more - 1) / more;
        if (next < thickness) return next;
    }
}
