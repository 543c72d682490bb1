/* SPDX-License-Identifier: MIT */
#include "geometry/grid.h"

#include <math.h>

#include "geometry/curve.h"

/* z range of the part of a ray within `radius` of the centre of the slices; false: no such part. */
static bool heights_of(const qb_geometry *g, size_t view, double column, double row, const qb_grid *grid, double radius,
                       double z[2]) {
    double at[3], along[3];
    qb__pixel_ray(g, view, column, row, at, along);
    for (int j = 0; j < 3; j++) at[j] -= grid->offset[j];
    const double a = along[0] * along[0] + along[1] * along[1], b = at[0] * along[0] + at[1] * along[1];
    const double c = at[0] * at[0] + at[1] * at[1] - radius * radius;
    if (!(a > 0) || !(b * b > a * c)) return false;
    const double half = sqrt(b * b - a * c) / a, one = at[2] + (-b / a - half) * along[2],
                 two = at[2] + (-b / a + half) * along[2];
    z[0] = fmin(one, two), z[1] = fmax(one, two);
    return true;
}

static size_t slices_of(double length, double voxel) {
    const double ROUNDING = 1e-6;
    return length > ROUNDING * voxel ? (size_t)ceil(length / voxel - ROUNDING) : 0;
}

void qb__grid_overhang(const qb_geometry *g, const qb_grid *grid, size_t slices[2]) {
    enum { VIEWS = 64 };
    const double radius = 0.5 * fmin((double)grid->n[0] * grid->voxel[0], (double)grid->n[1] * grid->voxel[1]);
    const double top = 0.5 * (double)(grid->n[2] - 1) * grid->voxel[2]; /* z of the middle of the last slice */
    const double column[3] = {0, 0.5 * (double)(g->columns - 1), (double)(g->columns - 1)};
    const size_t step = g->views > VIEWS ? g->views / VIEWS : 1;
    double least = -top, most = top, z[2];
    for (size_t view = 0; view < g->views; view += step)
        for (size_t i = 0; i < 3 * g->rows; i++) {
            if (!heights_of(g, view, column[i % 3], (double)(i / 3), grid, radius, z)) continue;
            if (z[0] > top || z[1] < -top) continue; /* outside the volume */
            least = fmin(least, z[0]);
            most = fmax(most, z[1]);
        }
    slices[0] = slices_of(-top - least, grid->voxel[2]);
    slices[1] = slices_of(most - top, grid->voxel[2]);
}
