/* SPDX-License-Identifier: MIT */
#ifndef QB_CENTER_CENTER_STILL_H
#define QB_CENTER_CENTER_STILL_H

#include "center/center.h"
#include "center/center_pairs.h"

/* What stands still: the mean of each column over the views that occur in pairs, still[row][column]. With each view its opposite is in the mean, so
 * that the object's part of it is its own mirror image about the axis; stripes (a column's wrong gain) are in it as a whole. Views less this mean are
 * still mirror images of their opposites, and have no stripes. The caller's to free. QB_NO_MEMORY. */
qb_status qb__center_still(const qb__center_rows *rows, const qb__center_pairs *pairs, float **still);

/* Columns by which the mirror of what stands still, rows together, can be wrong about a column: from how much it differs from its own mirror image,
 * which stripes make it do. 0 where it is one exactly. */
double qb__center_uneven(const qb__center_rows *rows, const float *still, double column);

/* How far rows scatter: of each row's own column (NAN: none) the standard error of their mean, after a straight line through them, as the axis may
 * lean. NAN of fewer than four. */
double qb__center_scatter(const double *each, size_t rows);

#endif
