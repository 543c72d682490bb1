/* SPDX-License-Identifier: MIT */
#pragma once

#include "prep/cone_planes.h"

/* Checks whether the detector of a circular cone-beam scan has the stated height and is not rotated in its plane. Any
 * plane through the sources of two views cuts both images in a line. The integrals of a view along the rays of such a
 * plane, times the cosine of their angle to the normal of the line of sources in the plane, are equal in both views
 * (Lesaint, Clackdoyle, Desbat and others, 2017). If the detector has another height or is rotated in its plane, the
 * lines are wrong and the sums differ. For an object that looks the same from all sides the sums are equal in all
 * views, and there is no result. */
typedef struct qb__cone_height {
    /* Measured values; NAN: unknown. rows: by how many rows farther than stated the level ray meets the detector. turn:
     * degrees by which the detector is rotated about that point, as qb_geometry_options.tilt. */
    double rows, turn;
    double confidence[2]; /* 0..1, for rows and for turn; at most 0.5 if the value is off but not clearly */
    /* for rows and for turn: by what factor the mean square of the differences becomes smaller; 0: no clear error */
    double better[2];
} qb__cone_height;

/* Finds the position of the detector at which the sums agree best. A bin is `rows` rows of the detector. */
void qb__cone_place_find(qb__cone_planes *planes, size_t rows, qb__cone_height *found);
