/* SPDX-License-Identifier: MIT */
#include "geometry/fan.h"

#include <math.h>
#include <string.h>

#include "geometry/curve.h"

qb__fan qb__fan_of(const qb_geometry *geometry, const qb_grid *grid, size_t view, size_t column) {
    const qb_view *at = &geometry->view[view];
    double pixel[3];
    qb__pixel_position(geometry, view, (double)column, 0, pixel);
    bool cone = geometry->beam == QB_BEAM_CONE;
    qb__fan fan;
    memset(&fan, 0, sizeof fan);
    for (int j = 0; j < 3; j++) {
        double first = grid->offset[j] - 0.5 * ((double)grid->n[j] - 1) * grid->voxel[j];
        fan.origin[j] = ((cone ? at->source[j] : pixel[j]) - first) / grid->voxel[j];
        fan.along[j] = (cone ? pixel[j] - at->source[j] : at->source[j]) / grid->voxel[j];
        *(cone ? &fan.along_step[j] : &fan.origin_step[j]) = at->v[j] / grid->voxel[j];
    }
    return fan;
}

int qb__fan_axis(const qb__fan *fan, double row) {
    const double alike = 1 + 1e-9; /* the last digits of nearly equal values differ between machines */
    int axis = 0;
    double most = fabs(fan->along[0] + row * fan->along_step[0]);
    for (int j = 1; j < 3; j++) {
        double size = fabs(fan->along[j] + row * fan->along_step[j]);
        if (size > most * alike) most = size, axis = j;
    }
    return axis;
}

double qb__fan_length(const qb__fan *fan, const double voxel[3], double row) {
    double most = 0, square = 0;
    for (int j = 0; j < 3; j++) {
        double size = fan->along[j] + row * fan->along_step[j];
        most = fmax(most, fabs(size));
        square += size * voxel[j] * size * voxel[j];
    }
    return sqrt(square) / most;
}
