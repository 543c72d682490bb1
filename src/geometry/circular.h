/* SPDX-License-Identifier: MIT */
#pragma once

#include "quickbeam/geometry.h"

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
