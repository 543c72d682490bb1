/* SPDX-License-Identifier: MIT */
#include "geometry/fov.h"

#include <math.h>

#include "geometry/circle.h"
#include "geometry/matrix.h"
#include "geometry/roll.h"

void qb__fov_circle(double radius, qb__fov *fov) {
    fov->radius = radius;
    for (int i = 0; i < QB__FOV_RADII; i++) {
        fov->low[i] = -INFINITY;
        fov->high[i] = INFINITY;
    }
}

static void narrow(qb__fov *fov, int i, double a, double b) {
    fov->low[i] = fmax(fov->low[i], fmin(a, b));
    fov->high[i] = fmin(fov->high[i], fmax(a, b));
}

/* Low is above high if a view does not see the circle at all. */
static void seen_by_turned(const qb_geometry *geometry, bool either, qb__fov *fov) {
    for (int i = 0; i < QB__FOV_RADII; i++) {
        if (!qb__panel_heights(geometry, fov->radius * i / (QB__FOV_RADII - 1), either, &fov->low[i], &fov->high[i]))
            fov->low[i] = 1, fov->high[i] = 0;
    }
}

/* The nearest and the farthest point of a circle have the smallest range of z, above and below. */
void qb__fov_cone(const qb_geometry *geometry, double radius, bool either, qb__fov *fov) {
    const double first = -0.5, last = (double)geometry->rows - 0.5;
    qb__fov_circle(radius, fov);
    if (qb__panel_is_turned(geometry)) {
        seen_by_turned(geometry, either, fov);
        return;
    }
    for (size_t v = 0; v < geometry->views; v++) {
        const qb_view *view = &geometry->view[v];
        qb__matrix matrix;
        if (qb__matrix_of_view(geometry->beam, view, &matrix) != QB_OK) continue;
        double t = qb__view_angle(geometry->beam, view);
        for (int i = 0; i < QB__FOV_RADII; i++) {
            for (int side = -1; side <= 1; side += 2) {
                double r = side * radius * i / (QB__FOV_RADII - 1);
                double x = r * sin(t), y = -r * cos(t);
                narrow(fov, i, qb__matrix_z_of_row(&matrix, x, y, first), qb__matrix_z_of_row(&matrix, x, y, last));
            }
        }
    }
}

static bool is_visible(const qb__fov *fov, double r, double z, bool along) {
    if (!(r <= fov->radius)) return false;
    if (!along) return true;
    double at = fov->radius > 0 ? r / fov->radius * (QB__FOV_RADII - 1) : 0;
    int i = (int)at < QB__FOV_RADII - 2 ? (int)at : QB__FOV_RADII - 2;
    double part = at - i, low = fov->low[i], high = fov->high[i];
    if (isinf(low)) return true;
    low += part * (fov->low[i + 1] - low);
    high += part * (fov->high[i + 1] - high);
    return z >= low && z <= high;
}

static double place(const qb_grid *grid, int axis, size_t i) {
    return ((double)i - ((double)grid->n[axis] - 1) / 2) * grid->voxel[axis] + grid->offset[axis];
}

void qb__fov_mask(const qb__fov *fov, const qb_grid *grid, size_t iz, bool along, float value, float *image) {
    double z = place(grid, 2, iz);
    for (size_t iy = 0; iy < grid->n[1]; iy++) {
        double y = place(grid, 1, iy);
        for (size_t ix = 0; ix < grid->n[0]; ix++) {
            double x = place(grid, 0, ix);
            if (!is_visible(fov, sqrt(x * x + y * y), z, along)) image[iy * grid->n[0] + ix] = value;
        }
    }
}

enum { MOST = 64 }; /* largest number of voxels along an axis that qb__fov_outside checks */

/* Squared distance from the centre in units of half a side; a voxel is in a corner if the sum of both axes exceeds
 * 1. */
static double off_middle(const qb_grid *grid, int axis, size_t i) {
    const double at = ((double)i + 0.5) / (double)grid->n[axis] * 2 - 1;
    return at * at;
}

/* Distance of sampled voxels of a slice from the axis; below 0: in a corner, which does not count. Returns their
 * number. */
static size_t radii_of(const qb_grid *grid, const size_t step[3], bool round, double radius[MOST * MOST]) {
    size_t count = 0;
    for (size_t iy = step[1] / 2; iy < grid->n[1]; iy += step[1]) {
        const double y = place(grid, 1, iy), off_y = off_middle(grid, 1, iy);
        for (size_t ix = step[0] / 2; ix < grid->n[0]; ix += step[0]) {
            const double x = place(grid, 0, ix);
            radius[count++] = round && off_middle(grid, 0, ix) + off_y > 1 ? -1 : sqrt(x * x + y * y);
        }
    }
    return count;
}

double qb__fov_outside(const qb__fov *fov, const qb_grid *grid, bool round) {
    double radius[MOST * MOST];
    size_t step[3], all = 0, outside = 0;
    for (int i = 0; i < 3; i++) step[i] = (grid->n[i] + MOST - 1) / MOST;
    const size_t count = radii_of(grid, step, round, radius);
    for (size_t iz = step[2] / 2; iz < grid->n[2]; iz += step[2], all += count) {
        const double z = place(grid, 2, iz);
        if (isinf(fov->low[0])) /* a parallel beam: the circle holds for every z */
            for (size_t i = 0; i < count; i++) outside += radius[i] > fov->radius;
        else
            for (size_t i = 0; i < count; i++) outside += radius[i] >= 0 && !is_visible(fov, radius[i], z, true);
    }
    return all ? (double)outside / (double)all : 0;
}
