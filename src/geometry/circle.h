/* SPDX-License-Identifier: MIT */
#ifndef QB_GEOMETRY_CIRCLE_H
#define QB_GEOMETRY_CIRCLE_H

#include "quickbeam/geometry.h"

/* The ideal circular scan closest to a geometry: the means of its views. Parallel: sod = sdd = 0.
 */
typedef struct qb__circle {
    qb_beam beam;
    double sod, sdd, pixel_u, pixel_v;
    double column, row; /* where the principal ray (the axis, in the plane z = 0) meets the detector */
    double error;       /* pixels: how far apart a point of the field falls on the two at most */
} qb__circle;

/* The angle t of a view: of its source, or of its rays if they are parallel. */
double qb__view_angle(qb_beam beam, const qb_view *view);
/* The angles of all views, each within half a turn of the previous one. */
void qb__view_angles(const qb_geometry *geometry, double *radians);

/* QB_BAD_INPUT as from qb__matrix_of_view. */
qb_status qb__circle_fit(const qb_geometry *geometry, qb__circle *circle);

/* How the image of the origin moves over the detector, in pixels. A detector that leans alike in all views does not move it. */
typedef struct qb__wander {
    double columns, rows; /* from one side to the other */
    double step;          /* from a view to the next, at most */
} qb__wander;
qb_status qb__circle_wander(const qb_geometry *geometry, qb__wander *wander);
void qb__circle_view(const qb__circle *circle, double angle, qb_view *view);

#endif
