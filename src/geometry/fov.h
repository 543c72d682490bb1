/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

#include "quickbeam/geometry.h"

/* The field of view that all views share: a circle about the axis and, for a cone, a range of z that depends on the
 * distance from the axis. */
enum { QB__FOV_RADII = 65 };
typedef struct qb__fov {
    double radius;                                  /* mm */
    double low[QB__FOV_RADII], high[QB__FOV_RADII]; /* z at radius i / (RADII - 1); low > high = nothing */
} qb__fov;

/* Field of view of a parallel beam: every z. */
void qb__fov_circle(double radius, qb__fov *fov);
/* Field of view of a cone, to `radius` mm from the axis, from the rows of each view, and from its columns if the
 * detector is rolled. `either`: full turn with an offset detector, where one of two opposite rays is enough. */
void qb__fov_cone(const qb_geometry *geometry, double radius, bool either, qb__fov *fov);

/* Set voxels of slice iz outside the field of view to `value`: image[ny][nx]. Without `along`, z does not matter. */
void qb__fov_mask(const qb__fov *fov, const qb_grid *grid, size_t iz, bool along, float value, float *image);
/* Share of the voxels outside the field of view, 0..1; estimated if there are many. `round`: only voxels within the
 * ellipse that touches the sides of the slice count, not the corners. */
double qb__fov_outside(const qb__fov *fov, const qb_grid *grid, bool round);
