/* SPDX-License-Identifier: MIT */
#include "bp_cone_circle.h"

#include <math.h>

static double at(const double *row, double x, double y, double z) {
    return row[0] * x + row[1] * y + row[2] * z + row[3];
}

/* The largest change along z, in pixels: of u by its own row of the matrix, and of u and v by w. */
static double drift(const qb__bp_cone_problem *p, const double *m, double nearest) {
    const double height = (double)(p->nz - 1), pixels = (double)(p->columns + p->rows);
    return (fabs(m[2]) + fabs(m[10]) * pixels) * height / nearest;
}

/* Find twice the position of the mirror's plane, if the first view has a mirror at a whole or half number. */
static bool mirror_of(const qb__bp_cone_problem *p, double *twice_row, double *twice_z) {
    const double *m = p->matrix[0];
    const int axis = fabs(m[8]) > fabs(m[9]) ? 0 : 1;
    if (m[8 + axis] == 0) return false;
    *twice_row = round(2 * m[4 + axis] / m[8 + axis]);
    *twice_z = round(2 * (*twice_row / 2 * m[11] - m[7]) / m[6]);
    return *twice_row >= 0 && *twice_row <= 2.0 * (double)(p->rows - 1) && *twice_z >= 0 &&
           *twice_z <= 2.0 * (double)(p->nz - 1);
}

/* v in the mirror's plane is a quotient of linear functions, so its extremes are at corners. */
static bool keeps_mirror(const qb__bp_cone_problem *p, const double *m, double row, double z) {
    for (int corner = 0; corner < 4; corner++) {
        double x = corner & 1 ? (double)(p->nx - 1) : 0, y = corner & 2 ? (double)(p->ny - 1) : 0;
        double v = at(m + 4, x, y, z) / at(m + 8, x, y, z);
        if (!(fabs(v - row) <= QB__CONE_CIRCLE_TOLERANCE)) return false;
    }
    return true;
}

static void set_mirror(qb__cone_circle *c, double twice_row, double twice_z) {
    const double row = twice_row / 2, z = twice_z / 2;
    const double row_after = ceil(row), z_after = ceil(z);
    const int first = c->falling ? 1 : 0;
    c->mirrored = true;
    c->halves = 2;
    c->z[0] = (int64_t)z_after;
    c->z[1] = (int64_t)(twice_z - z_after);
    c->row[first] = (int64_t)row_after;
    c->row[!first] = (int64_t)(twice_row - row_after);
    c->row_step[first] = 1;
    c->row_step[!first] = -1;
    c->lead = z_after - z;
    c->shift = row_after - row;
}

bool qb__cone_circle_of(const qb__bp_cone_problem *p, qb__cone_circle *circle) {
    if (p->circle) {
        *circle = *p->circle;
        return true;
    }
    const double nearest = qb__bp_cone_nearest(p);
    if (!(nearest > 0)) return false;
    qb__cone_circle c = {.falling = p->matrix[0][6] < 0, .halves = 1};
    c.row[0] = c.falling ? (int64_t)p->rows - 1 : 0;
    c.row_step[0] = c.falling ? -1 : 1;
    double twice_row = 0, twice_z = 0;
    bool mirrored = mirror_of(p, &twice_row, &twice_z);
    for (size_t v = 0; v < p->views; v++) {
        const double *m = p->matrix[v];
        if (!(drift(p, m, nearest) <= QB__CONE_CIRCLE_TOLERANCE)) return false;
        if (!(c.falling ? m[6] < 0 : m[6] > 0)) return false;
        mirrored = mirrored && keeps_mirror(p, m, twice_row / 2, twice_z / 2);
    }
    if (mirrored) set_mirror(&c, twice_row, twice_z);
    *circle = c;
    return true;
}
