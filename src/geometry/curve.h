/* SPDX-License-Identifier: MIT */
#pragma once

#include "quickbeam/geometry.h"

/* A detector curved into a cylinder of geometry->radius, concave to the source. It touches the plane of the view's
 * vectors along the column `touch` nearest to the world's origin: there the axis falls for any offset of the detector,
 * which moves the pixels along the arc. In the frame of that plane (x along columns and y along rows from there, depth
 * away from the source) pixel (c, r) is at x = radius sin(arc), depth = radius (cos(arc) - 1), arc = (c - touch) |u| /
 * radius. */
typedef struct qb__curve {
    double radius, touch; /* mm; column */
    double pitch;         /* mm along the arc */
    double x, depth, row; /* position of the source: mm along columns, mm in front of the plane, and its row */
} qb__curve;

/* Constants for mapping the plane to the cylinder in one view. */
qb__curve qb__curve_of_view(const qb_geometry *geometry, size_t view);

/* Map a column and row of the touching plane to those of the cylinder, along the ray; NAN if the ray misses it. */
void qb__curve_pixel(const qb__curve *curve, double *column, double *row);

/* The position of a pixel of a flat or curved detector, in mm. */
void qb__pixel_position(const qb_geometry *geometry, size_t view, double column, double row, double place[3]);
/* The position of a pixel and the direction of its ray, of any length. */
void qb__pixel_ray(const qb_geometry *geometry, size_t view, double column, double row, double place[3],
                   double along[3]);
