/* SPDX-License-Identifier: MIT */
#ifndef QB_GEOMETRY_FOV_H
#define QB_GEOMETRY_FOV_H

#include <stdbool.h>

#include "quickbeam/geometry.h"

/* What all views see: a circle about the axis and, of a cone, a range of z that depends on the distance
 * from the axis, the same in all directions. */
enum { QB__FOV_RADII = 65 };
typedef struct qb__fov {
    double radius;                                  /* mm */
    double low[QB__FOV_RADII], high[QB__FOV_RADII]; /* z at radius i / (RADII - 1); low > high = nothing */
} qb__fov;

/* A parallel beam's: every z. */
void qb__fov_circle(double radius, qb__fov *fov);
/* From each view's rows, to `radius` mm from the axis; of a detector that is turned in its plane also from its columns. `either`: a full turn with
 * the detector to one side, where one of two opposite rays is enough. */
void qb__fov_cone(const qb_geometry *geometry, double radius, bool either, qb__fov *fov);

/* Voxels of the slice iz that are not seen become `value`: image[ny][nx]. Without `along`, z does not
 * matter. */
void qb__fov_mask(const qb__fov *fov, const qb_grid *grid, size_t iz, bool along, float value, float *image);
/* The share of a grid's voxels, 0..1, that is not seen; from a part of them where there are many. `round`: only
 * those within the ellipse that touches the slices' sides count, not the corners that any square has. */
double qb__fov_outside(const qb__fov *fov, const qb_grid *grid, bool round);

#endif
