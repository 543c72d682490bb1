/* SPDX-License-Identifier: MIT */
#include "kernels/bp_cone/bp_cone_parts.h"

#include <math.h>

#include "cpu/bp_cone/bp_cone_circle.h"

/* Largest deviation in pixels of a rotated view from the view that it is taken for: below the error of accuracy class
 * high. */
static const double tolerance = 1e-5;

/* Make a matrix on the voxels of the rotated grid: q = (nx-1-x, ny-1-y), (nx-1-y, x) or, back, (y, nx-1-x). */
static void turn(const qb__bp_cone_problem *p, const double *m, int turns, bool back, double out[12]) {
    const double nx = (double)p->nx - 1, ny = (double)p->ny - 1;
    for (int i = 0; i < 12; i += 4) {
        const double a = m[i], b = m[i + 1];
        out[i] = turns == 2 ? -a : back ? -b : b;
        out[i + 1] = turns == 2 ? -b : back ? a : -a;
        out[i + 2] = m[i + 2];
        out[i + 3] = m[i + 3] + (turns == 2 ? a * nx + b * ny : back ? b * nx : a * nx);
    }
}

/* Largest difference of u or v between two matrices anywhere in the grid. */
static double apart(const qb__bp_cone_problem *p, const double *m, const double *n, double nearest) {
    const double extent[] = {(double)p->nx, (double)p->ny, (double)p->nz, 1};
    double row[3] = {0};
    for (int i = 0; i < 12; i++) row[i / 4] += fabs(m[i] - n[i]) * extent[i % 4];
    const double pixels = (double)(p->columns > p->rows ? p->columns : p->rows);
    return (fmax(row[0], row[1]) + row[2] * pixels) / nearest;
}

static bool repeats(const qb__bp_cone_problem *p, int turns, bool back, double nearest) {
    const size_t step = p->views / (size_t)turns;
    for (size_t v = 0; v < p->views; v++) {
        double turned[12];
        turn(p, p->matrix[(v + step) % p->views], turns, back, turned);
        if (!(apart(p, p->matrix[v], turned, nearest) <= tolerance)) return false;
    }
    return true;
}

static const char *turns_of(const qb__bp_cone_problem *p, int turns, double nearest, bool *back) {
    if (turns == 1) return NULL;
    if (p->views % (size_t)turns)
        return turns == 4 ? "the number of views does not divide by 4" : "an odd number of views";
    if (turns == 4 && p->nx != p->ny) return "slices are not square";
    *back = turns == 4 && !repeats(p, 4, false, nearest);
    if (!*back && (turns == 4 || repeats(p, turns, false, nearest))) return NULL;
    if (turns == 4 && repeats(p, 4, true, nearest)) return NULL;
    return turns == 4 ? "views do not repeat after a quarter turn about the grid's middle"
                      : "views do not repeat after half a turn about the grid's middle";
}

const char *qb__cone_turns_of(const qb__bp_cone_problem *p, int turns, bool mirror, qb__cone_turns *out) {
    qb__cone_circle circle;
    *out = (qb__cone_turns){0};
    if (!qb__cone_circle_of(p, &circle)) return "the orbit is no exact circle about z";
    out->mirrored = circle.mirrored;
    out->falling = circle.falling;
    if (circle.mirrored) {
        out->twice_row = (int)(circle.row[0] + circle.row[1]);
        out->twice_z = (int)(circle.z[0] + circle.z[1]);
    }
    if (mirror && !circle.mirrored) return "no plane of the grid mirrors the detector's rows";
    return turns_of(p, turns, qb__bp_cone_nearest(p), &out->back);
}
