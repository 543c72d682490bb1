/* SPDX-License-Identifier: MIT */
#ifndef QB_PREP_CONE_PLACE_H
#define QB_PREP_CONE_PLACE_H

#include "prep/cone_planes.h"

/* Does the detector of a circular cone scan stand at the height that is stated, and level? Any plane through the sources of two views cuts both
 * images in a line. The integrals of a view along the rays of such a plane, times the cosine of their angle to the plane's normal from the
 * line of sources, are the same in both views (Lesaint, Clackdoyle, Desbat and others, 2017). With the detector at another height the lines
 * are wrong, and the sums differ. The same holds for a detector that is turned in its plane. An object that is the same from all sides
 * gives the same sums in all views, and then nothing can be said. */
typedef struct qb__cone_height {
    /* Measured; NAN: nothing can be said. The level ray meets the detector so many rows further than stated; degrees by which it is
     * turned about that place, as qb_geometry_options.tilt. */
    double rows, turn;
    double confidence[2]; /* 0..1, of both; at most a half of what is off but not clear */
    /* how many times smaller the mean square of the differences is by each; 0: it is not clear that it is off */
    double better[2];
} qb__cone_height;

/* Where the detector is, by sums that agree best; `rows` of the detector are a bin. */
void qb__cone_place_find(qb__cone_planes *planes, size_t rows, qb__cone_height *found);

#endif
