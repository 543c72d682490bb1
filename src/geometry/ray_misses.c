/* SPDX-License-Identifier: MIT */
#include "geometry/grid.h"

#include <math.h>

#include "geometry/curve.h"

/* The part of a line's part part[0]..part[1] between -half and half of one axis. */
static void narrow(double at, double along, double half, double part[2]) {
    if (along == 0) {
        if (fabs(at) > half) part[1] = -INFINITY;
        return;
    }
    const double a = (-half - at) / along, b = (half - at) / along;
    part[0] = fmax(part[0], fmin(a, b));
    part[1] = fmin(part[1], fmax(a, b));
}

bool qb__ray_misses(const qb_geometry *geometry, size_t view, double column, double row, const qb_grid *grid,
                    double radius, bool flat) {
    double at[3], along[3], part[2] = {-INFINITY, INFINITY};
    qb__pixel_ray(geometry, view, column, row, at, along);
    for (int j = 0; j < (flat ? 2 : 3); j++) {
        at[j] -= grid->offset[j];
        narrow(at[j], along[j], ((double)grid->n[j] / 2 + 1) * grid->voxel[j], part);
    }
    const double far = fabs(at[0] * along[1] - at[1] * along[0]), length = hypot(along[0], along[1]);
    return part[0] > part[1] || far > (radius + fmax(grid->voxel[0], grid->voxel[1])) * length;
}
