/* SPDX-License-Identifier: MIT */
#ifndef QB_GEOMETRY_RTK_H
#define QB_GEOMETRY_RTK_H

#include "quickbeam/geometry.h"

/* RTK's nine numbers of a projection (its ThreeDCircularProjectionGeometry); mm and degrees. */
typedef struct qb__rtk {
    double sid, sdd; /* sdd = 0: parallel */
    double source_x, source_y, projection_x, projection_y;
    double gantry, out_of_plane, in_plane;
} qb__rtk;

/* In RTK y is the rotation axis: our (x, y, z) is its (x, -z, y), its (x, y, z) our (x, z, -y). */
void qb__rtk_view(const qb__rtk *rtk, const qb_detector *detector, qb_view *view);
/* QB_UNSUPPORTED with the number when rows and columns are not perpendicular or mirrored, or
 * parallel rays do not meet the detector at right angles. */
qb_status qb__rtk_from_view(const qb_geometry *geometry, size_t view, qb__rtk *rtk);

/* The redundant matrix of the XML: RTK's world to mm on the detector, times the negative depth. */
void qb__rtk_matrix(const qb__rtk *rtk, double matrix[3][4]);
/* By how many pixels the shadows of points within the field of view differ between such a matrix and the numbers, at most: INFINITY where a point has
 * no shadow in one of them. */
double qb__rtk_departure(const qb__rtk *rtk, const double matrix[3][4], const qb_detector *detector);
/* The view of such a matrix on its own. */
qb_status qb__rtk_view_of_matrix(const double matrix[3][4], const qb_detector *detector, qb_beam *beam, qb_view *view);

#endif
