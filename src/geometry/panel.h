/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

#include "quickbeam/geometry.h"

/* Extent of a flat detector that is rotated in its plane: across (horizontal, perpendicular to the axis) and along the
 * axis. Measured through its centre, as means over the views. */
typedef struct qb__panel {
    double turn;                      /* degrees of rotation, 0 to 90: at 90 the columns run along the axis */
    double across, along;             /* pixels */
    double pitch_across, pitch_along; /* mm per pixel */
} qb__panel;

qb__panel qb__panel_of(const qb_geometry *geometry);

/* True if the rows of a flat detector deviate by more than a pixel from horizontal over its width, so that its columns
 * alone do not limit the field of view. */
bool qb__panel_is_turned(const qb_geometry *geometry);

/* The range of z that all views see on the whole circle of `radius` mm about the axis; false if there is none.
 * `either`: full turn with an offset detector, where one of two opposite rays is enough. */
bool qb__panel_heights(const qb_geometry *geometry, double radius, bool either, double *low, double *high);
/* The largest radius for which all views see some z; 0 if they do not see the axis. */
double qb__panel_radius(const qb_geometry *geometry, bool either);

/* Pixels (column, row) at the two ends of the horizontal line through the centre of a view's detector. */
void qb__panel_level_line(const qb_geometry *geometry, size_t view, double first[2], double last[2]);
