/* SPDX-License-Identifier: MIT */
#pragma once

#include "quickbeam/geometry.h"

/* The nine numbers of a projection in RTK's ThreeDCircularProjectionGeometry; mm and degrees. */
typedef struct qb__rtk {
    double sid, sdd; /* sdd = 0: parallel */
    double source_x, source_y, projection_x, projection_y;
    double gantry, out_of_plane, in_plane;
} qb__rtk;

/* In RTK y is the rotation axis: our (x, y, z) is its (x, -z, y), its (x, y, z) is our (x, z, -y). */
void qb__rtk_view(const qb__rtk *rtk, const qb_detector *detector, qb_view *view);
/* QB_UNSUPPORTED with the number if rows and columns are not perpendicular, or mirrored, or if parallel rays are not
 * perpendicular to the detector. */
qb_status qb__rtk_from_view(const qb_geometry *geometry, size_t view, qb__rtk *rtk);

/* The redundant matrix of the XML: it maps RTK's world to mm on the detector, times the negative depth. */
void qb__rtk_matrix(const qb__rtk *rtk, double matrix[3][4]);
/* Largest difference in pixels between the images of points in the field of view by such a matrix and by the nine
 * numbers: INFINITY if a point has no image in one of them. */
double qb__rtk_departure(const qb__rtk *rtk, const double matrix[3][4], const qb_detector *detector);
/* The view that belongs to such a matrix. */
qb_status qb__rtk_view_of_matrix(const double matrix[3][4], const qb_detector *detector, qb_beam *beam, qb_view *view);
