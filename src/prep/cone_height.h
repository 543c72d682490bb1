/* SPDX-License-Identifier: MIT */
#ifndef QB_PREP_CONE_HEIGHT_H
#define QB_PREP_CONE_HEIGHT_H

#include "geometry/circle.h"
#include "prep/prepare.h"

/* Does the detector of a circular cone scan stand at the height that is stated? Any plane through the sources of two views cuts both
 * images in a line. The integrals of a view along the rays of such a plane, times the cosine of their angle to the plane's normal from the
 * line of sources, are the same in both views (Lesaint, Clackdoyle, Desbat and others, 2017). With the detector at another height the lines
 * are wrong, and the sums differ. An object that is the same all around shows nothing. */
typedef struct qb__cone_height {
    double
        rows; /* the ray level with the source meets the detector so many rows further than stated; 0: not so, or nothing can be said */
    double better; /* how many times smaller the mean square of the differences is then */
} qb__cone_height;

/* radians[views]: angles of the sources; rows row0 <= row < row1 are prepared. Reads at most 36 views, if that is a small part of the
 * scan, into `room` bytes at most. */
qb_status qb__cone_height_find(qb_scan *scan, const qb__prepare *prepare, const qb__circle *circle,
                               const double *radians, size_t row0, size_t row1, size_t room, qb__cone_height *found);
void qb__cone_height_warn(const qb__cone_height *found, const qb__circle *circle, bool from_file, const qb_env *env);

#endif
