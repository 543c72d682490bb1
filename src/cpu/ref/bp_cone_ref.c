/* SPDX-License-Identifier: MIT */
#include "cpu/bp_cone/bp_cone.h"

#include <math.h>

static double dot(const double *row, double x, double y, double z) {
    return row[0] * x + row[1] * y + row[2] * z + row[3];
}

double qb__bp_cone_reference(const qb__bp_cone_problem *problem, size_t view, const float *image, size_t row_stride,
                             size_t x, size_t y, size_t z) {
    const double *m = problem->matrix[view];
    const double w = dot(m + 8, (double)x, (double)y, (double)z);
    const double u = dot(m, (double)x, (double)y, (double)z) / w;
    const double v = dot(m + 4, (double)x, (double)y, (double)z) / w;
    const double columns = (double)problem->columns, rows = (double)problem->rows;
    if (!(u > -1 && u < columns && v > -1 && v < rows)) return 0;

    const double left = floor(u), top = floor(v);
    double sum = 0;
    for (int corner = 0; corner < 4; corner++) {
        double column = left + (corner & 1), row = top + (corner >> 1);
        if (column < 0 || column >= columns || row < 0 || row >= rows) continue;
        double weight = (1 - fabs(u - column)) * (1 - fabs(v - row));
        sum += weight * (double)image[(size_t)row * row_stride + (size_t)column];
    }
    return sum / (w * w);
}
