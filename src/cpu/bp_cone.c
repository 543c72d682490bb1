/* SPDX-License-Identifier: MIT */
#include "bp_cone_variants.h"

#include <math.h>
#include <threads.h>

static const qb__bp_cone_variant *const rows[] = {
#if defined(__x86_64__)
    &qb__bp_cone_circular_avx512, &qb__bp_cone_circular_avx2,       &qb__bp_cone_matrix_avx512,
    &qb__bp_cone_matrix_avx2,     &qb__bp_cone_matrix_avx512_float, &qb__bp_cone_matrix_avx2_float,
#endif
    &qb__bp_cone_circular_scalar, &qb__bp_cone_matrix_scalar,
};

enum { ROWS = sizeof rows / sizeof rows[0] };

static qb__bp_cone_variant table[ROWS];

static void fill_table(void) {
    for (size_t i = 0; i < ROWS; i++) table[i] = *rows[i];
}

const qb__bp_cone_variant *qb__bp_cone_variants(size_t *count) {
    static once_flag once = ONCE_FLAG_INIT;
    call_once(&once, fill_table);
    *count = ROWS;
    return table;
}

static double at_corner(const qb__bp_cone_problem *p, const double *row, int corner, size_t z0,
                        size_t z1) {
    double x = corner & 1 ? (double)(p->nx - 1) : 0.0, y = corner & 2 ? (double)(p->ny - 1) : 0.0;
    double z = (double)(corner & 4 ? z1 - 1 : z0);
    return row[0] * x + row[1] * y + row[2] * z + row[3];
}

/* v is a quotient of two functions linear in the voxel and w stays positive, so its extremes over a
 * box lie at corners. */
qb__bp_cone_window qb__bp_cone_rows(const qb__bp_cone_problem *p, size_t z0, size_t z1) {
    double lowest = INFINITY, highest = -INFINITY;
    for (size_t view = 0; view < p->views; view++) {
        for (int corner = 0; corner < 8; corner++) {
            const double *m = p->matrix[view];
            double v = at_corner(p, m + 4, corner, z0, z1) / at_corner(p, m + 8, corner, z0, z1);
            lowest = fmin(lowest, v);
            highest = fmax(highest, v);
        }
    }
    const double rows_in_all = (double)p->rows;
    /* A hair more, for coordinates that rounding moves across a pixel centre. */
    lowest = floor(lowest - 1e-3), highest = floor(highest + 1e-3) + 2;
    if (!(lowest < rows_in_all && highest > 0)) return (qb__bp_cone_window){0, 0};
    return (qb__bp_cone_window){(size_t)fmax(lowest, 0), (size_t)fmin(highest, rows_in_all)};
}

double qb__bp_cone_nearest(const qb__bp_cone_problem *p) {
    double nearest = INFINITY;
    for (size_t view = 0; view < p->views; view++) {
        for (int corner = 0; corner < 8; corner++) {
            double w = at_corner(p, p->matrix[view] + 8, corner, 0, p->nz);
            if (!(w >= nearest)) nearest = w;
        }
    }
    return nearest;
}
