/* SPDX-License-Identifier: MIT */
#pragma once

#include "quickbeam/geometry.h"

/* The ideal circular scan closest to a geometry, from the means of its views. Parallel: sod = sdd = 0. */
typedef struct qb__circle {
    qb_beam beam;
    double sod, sdd, pixel_u, pixel_v;
    double column, row; /* point of the detector where the principal ray (or, for z = 0, the axis) is seen */
    /* largest distance in pixels between the images of a point of the field of view in both geometries */
    double error;
} qb__circle;

/* The angle t of a view: of its source, or of its rays for a parallel beam. */
double qb__view_angle(qb_beam beam, const qb_view *view);
/* The angles of all views, each within half a turn of the previous one. */
void qb__view_angles(const qb_geometry *geometry, double *radians);

/* QB_BAD_INPUT as in qb__matrix_of_view. */
qb_status qb__circle_fit(const qb_geometry *geometry, qb__circle *circle);

/* Movement of the image of the origin over the detector, in pixels. A detector tilted equally in all views does not
 * move it. */
typedef struct qb__wander {
    double columns, rows; /* range of the movement */
    double step;          /* largest movement from one view to the next */
} qb__wander;
qb_status qb__circle_wander(const qb_geometry *geometry, qb__wander *wander);
void qb__circle_view(const qb__circle *circle, double angle, qb_view *view);

/* Largest tilt of a detector in degrees, out of its plane and about its columns; in its plane any angle is allowed. */
#define QB__MOST_LEAN 89.0

/* The misalignments of a circular scan; zeros are none. */
typedef struct qb__faults {
    double in_plane, out_of_plane, slant; /* radians, as in qb_geometry_make */
    double jitter_u, jitter_v;            /* mm */
    double periods, phase;                /* per turn; radians */
} qb__faults;

/* Apply them to the views of a qb_geometry_cone with these angles. */
void qb__geometry_disturb(qb_geometry *geometry, const double *angles, double sod, double sdd,
                          const qb__faults *faults);
