/* SPDX-License-Identifier: MIT */
#include "bp_cone.h"

#include <math.h>

static double at_corner(const qb__bp_cone_problem *p, const double *row, int corner, size_t z0, size_t z1) {
    double x = corner & 1 ? (double)(p->nx - 1) : 0.0, y = corner & 2 ? (double)(p->ny - 1) : 0.0;
    double z = (double)(corner & 4 ? z1 - 1 : z0);
    return row[0] * x + row[1] * y + row[2] * z + row[3];
}

qb__bp_cone_window qb__bp_cone_rows(const qb__bp_cone_problem *p, size_t z0, size_t z1) {
    qb__rows_problem problem = {p->views, p->matrix, p->nx, p->ny, p->rows};
    qb__rows needed = qb__rows_of_slab(&problem, z0, z1);
    return (qb__bp_cone_window){needed.first, needed.end};
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
