/* SPDX-License-Identifier: MIT */
#pragma once

#include "quickbeam/recon.h"

/* For the command of the same build; not part of the library's interface. */

enum { QB_TOOL_CURVE = 81 };

/* What a few rows show about the axis and about the sums of their line integrals. Fan-beam rows are first sorted into
 * parallel rays. */
typedef struct qb_tool_curve {
    int points; /* number of entries in column and mismatch; 0: no views are opposite to each other */
    /* Root mean square difference of opposite rays, relative to the root mean square of the rays, for an axis at
     * `column`. */
    double column[QB_TOOL_CURVE], mismatch[QB_TOOL_CURVE];
    size_t views;
    /* [views], released by free(). angle: in degrees. sum: the sum of a view's line integrals relative to the mean of
     * all views. It is equal in all views if the object lies within the field of view (order 0 of the consistency
     * conditions of Helgason and Ludwig). */
    double *angle, *sum;
    double scatter; /* standard deviation of `sum` minus a moving mean over 1/36 of the views: noise */
    /* standard deviation of that moving mean: inconsistency of the views; NAN if rows do not end in air */
    double swing;
} qb_tool_curve;

/* sod, sdd and pixel are in mm; sod 0: parallel rays. `axis`: the column around which the mismatch is computed. */
QB_API qb_status qb_tool_curve_of(qb_scan *scan, const qb_prep_options *prep, double sod, double sdd, double axis,
                                  const qb_env *env, qb_tool_curve *curve);
QB_API void qb_tool_curve_clear(qb_tool_curve *curve);
