/* SPDX-License-Identifier: MIT */
#include "geometry/fan.h"

#include <math.h>
#include <string.h>

#include "geometry/vector.h"

/* The pixel (column, row 0) of a detector bent about its middle column: along the arc by
 * a = x / radius, which is radius sin a sideways and radius (1 - cos a) towards the source. */
static void bent_pixel(const qb_geometry *geometry, const qb_view *view, double column,
                       double pixel[3]) {
    double normal[3], middle = 0.5 * ((double)geometry->columns - 1), toward = 0;
    double pitch = qb__norm(view->u), angle = (column - middle) * pitch / geometry->radius;
    qb__cross(view->u, view->v, normal);
    for (int j = 0; j < 3; j++)
        toward += normal[j] * (geometry->beam == QB_BEAM_CONE ? view->source[j] - view->detector[j]
                                                              : -view->source[j]);
    double side = geometry->radius * sin(angle) / pitch, half = sin(0.5 * angle);
    double depth = copysign(2 * geometry->radius * half * half / qb__norm(normal), toward);
    for (int j = 0; j < 3; j++)
        pixel[j] = view->detector[j] + (middle + side) * view->u[j] + depth * normal[j];
}

void qb__pixel_of(const qb_geometry *geometry, size_t view, double column, double pixel[3]) {
    const qb_view *at = &geometry->view[view];
    for (int j = 0; j < 3; j++) pixel[j] = at->detector[j] + column * at->u[j];
    if (geometry->radius > 0) bent_pixel(geometry, at, column, pixel);
}

qb__fan qb__fan_of(const qb_geometry *geometry, const qb_grid *grid, size_t view, size_t column) {
    const qb_view *at = &geometry->view[view];
    double pixel[3];
    qb__pixel_of(geometry, view, (double)column, pixel);
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
    int axis = 0;
    double most = fabs(fan->along[0] + row * fan->along_step[0]);
    for (int j = 1; j < 3; j++) {
        double size = fabs(fan->along[j] + row * fan->along_step[j]);
        if (size > most) most = size, axis = j;
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
