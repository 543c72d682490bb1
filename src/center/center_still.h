/* SPDX-License-Identifier: MIT */
#pragma once

#include "center/center.h"
#include "center/center_pairs.h"

/* The stationary part: the mean of each column over the views that occur in pairs, still[row][column]. Each view is
 * averaged together with its opposite view, so the object's part of the mean is its own mirror image about the axis.
 * Stripes (a wrong gain of a column) remain in it completely. Views minus this mean are still mirror images of their
 * opposite views, but without stripes. The caller frees *still. QB_NO_MEMORY. */
qb_status qb__center_still(const qb__center_rows *rows, const qb__center_pairs *pairs, float **still);

/* Estimated error, in columns, of an axis at `column` that was found from rows with their stationary part. It is
 * computed from the difference between the stationary part and its own mirror image, which stripes cause. 0 if both are
 * equal. */
double qb__center_uneven(const qb__center_rows *rows, const float *still, double column);

/* Scatter of the rows: standard error of the mean of the columns in `each` (NAN: none), after removal of a linear
 * trend, because the axis may be tilted. NAN for fewer than four rows. */
double qb__center_scatter(const double *each, size_t rows);
