/* SPDX-License-Identifier: MIT */
#ifndef QB_GEOMETRY_CIRCULAR_H
#define QB_GEOMETRY_CIRCULAR_H

#include "quickbeam/geometry.h"

/* Degrees by which a detector may lean, out of its plane and about its columns; in its plane it may be turned by any angle. */
#define QB__MOST_LEAN 89.0

/* The faults of a real circular scan; the zero value is none. */
typedef struct qb__faults {
    double in_plane, out_of_plane, slant; /* radians, as in qb_geometry_make */
    double jitter_u, jitter_v;            /* mm */
    double periods, phase;                /* per turn; radians */
} qb__faults;

/* Change the views of a qb_geometry_cone at these angles. */
void qb__geometry_disturb(qb_geometry *geometry, const double *angles, double sod, double sdd,
                          const qb__faults *faults);

#endif
