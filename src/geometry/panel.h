/* SPDX-License-Identifier: MIT */
#ifndef QB_GEOMETRY_PANEL_H
#define QB_GEOMETRY_PANEL_H

#include <stdbool.h>

#include "quickbeam/geometry.h"

/* A flat detector that is turned in its plane: what it is across (level, at right angles to the axis) and along the axis. Both are measured
 * through its middle, as means over the views. */
typedef struct qb__panel {
    double turn;                      /* degrees from upright, 0 to 90: at 90 the columns run along the axis */
    double across, along;             /* pixels */
    double pitch_across, pitch_along; /* mm from pixel to pixel */
} qb__panel;

qb__panel qb__panel_of(const qb_geometry *geometry);

/* Whether a flat detector's rows are so far from level, by more than a pixel over its width, that its field of view is not bounded by columns
 * alone. */
bool qb__panel_is_turned(const qb_geometry *geometry);

/* The z that all views see everywhere on the circle of `radius` mm about the axis: false where there is none. `either`: of two rays to points on
 * opposite sides of the central one, one is enough (a full turn with the detector to one side). */
bool qb__panel_heights(const qb_geometry *geometry, double radius, bool either, double *low, double *high);
/* The largest radius of which all views see some z; 0 where the axis itself is not seen. */
double qb__panel_radius(const qb_geometry *geometry, bool either);

/* Pixels (column, row) at the two ends of the level line through the middle of a view's detector. */
void qb__panel_level_line(const qb_geometry *geometry, size_t view, double first[2], double last[2]);

#endif
