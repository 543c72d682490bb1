/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "geometry/phantom.h"
#include "geometry/vector.h"

/* The part of the line through `point` along x that is inside, as x - point[0]; false if it misses. */
static bool inside(const qb__ellipsoid *e, const double point[3], double *from, double *to) {
    double p[3], w[3], d[3] = {e->a[0][0], e->a[1][0], e->a[2][0]}, n[3];
    for (int k = 0; k < 3; k++) p[k] = point[k] - e->center[k];
    qb__apply(e->a, p, w);
    if (e->box) return qb__box_cut(w, d, 1, from, to);
    qb__cross(w, d, n);
    double q = qb__dot(d, d), f = q - qb__dot(n, n);
    if (!(f >= 0)) return false;
    double middle = -qb__dot(w, d) / q, half = sqrt(f) / q;
    *from = middle - half;
    *to = middle + half;
    return true;
}

/* Sample m of a line lies in voxel m / k; add `value` to the voxel of each sample from `first` to `last`. */
static void add_samples(long first, long last, long k, float value, float *row) {
    long begin = first / k, end = last / k;
    if (begin == end) {
        row[begin] += value * (float)(last - first + 1);
        return;
    }
    row[begin] += value * (float)((begin + 1) * k - first);
    for (long i = begin + 1; i < end; i++) row[i] += value * (float)k;
    row[end] += value * (float)(last - end * k + 1);
}

static double sample(const qb_grid *grid, int axis, size_t index, int k, int part) {
    double at = (double)index + ((double)part + 0.5) / k - 0.5;
    return (at - 0.5 * ((double)grid->n[axis] - 1)) * grid->voxel[axis] + grid->offset[axis];
}

static void add_line(const qb__ellipsoid *e, const qb_grid *grid, const double point[3], int k, float *row) {
    double from, to, step = grid->voxel[0] / k;
    if (!inside(e, point, &from, &to)) return;
    double first = fmax(ceil(from / step), 0);
    double last = fmin(floor(to / step), (double)grid->n[0] * k - 1);
    if (first <= last) add_samples((long)first, (long)last, k, (float)(e->value / ((double)k * k * k)), row);
}

/* Half of the bounding box: the lengths of the rows of the inverse of A, or, for a box, the sums of their
 * components. */
static void bounds(const qb__ellipsoid *e, double half[3]) {
    for (int k = 0; k < 3; k++) half[k] = 0;
    for (int j = 0; j < 3; j++) {
        double q = qb__dot(e->a[j], e->a[j]);
        for (int k = 0; k < 3; k++) {
            const double part = q > 0 ? fabs(e->a[j][k]) / q : INFINITY;
            half[k] += e->box ? part : part * part;
        }
    }
    for (int k = 0; k < 3 && !e->box; k++) half[k] = sqrt(half[k]);
}

/* True if a point within half a voxel of an index along an axis can be inside. */
static bool near(const qb__ellipsoid *e, const qb_grid *grid, const double half[3], int axis, size_t index) {
    double away = fabs(sample(grid, axis, index, 1, 0) - e->center[axis]);
    return away <= half[axis] + 0.51 * grid->voxel[axis];
}

static void add_row(const qb__ellipsoid *e, const qb_grid *grid, size_t iz, size_t iy, int k, float *row) {
    for (int part = 0; part < k * k; part++) {
        double point[3] = {sample(grid, 0, 0, k, 0), sample(grid, 1, iy, k, part % k),
                           sample(grid, 2, iz, k, part / k)};
        add_line(e, grid, point, k, row);
    }
}

void qb__phantom_slice(const qb__phantom *phantom, const qb_grid *grid, size_t iz, int samples, float *out) {
    size_t nx = grid->n[0], ny = grid->n[1];
    memset(out, 0, nx * ny * sizeof *out);
    for (size_t i = 0; i < phantom->count; i++) {
        const qb__ellipsoid *e = &phantom->shape[i];
        double half[3];
        bounds(e, half);
        if (!near(e, grid, half, 2, iz)) continue;
        for (size_t iy = 0; iy < ny; iy++) {
            if (near(e, grid, half, 1, iy)) add_row(e, grid, iz, iy, samples, out + iy * nx);
        }
    }
}
