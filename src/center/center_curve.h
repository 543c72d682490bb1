/* SPDX-License-Identifier: MIT */
#ifndef QB_CENTER_CENTER_CURVE_H
#define QB_CENTER_CENTER_CURVE_H

#include "quickbeam/recon.h"

/* For the command of the same build; no part of the library's interface. */

enum { QB_TOOL_CURVE = 81 };

/* What a few rows say of the axis, and of the sums of their line integrals, as rays of a parallel beam (a fan's are sorted anew). */
typedef struct qb_tool_curve {
    int points; /* 0: no views lie opposite to each other */
    /* Root of the mean square of the differences of opposite rays, over that of the rays, for an axis at `column`. */
    double column[QB_TOOL_CURVE], mismatch[QB_TOOL_CURVE];
    size_t views;
    /* [views], for free(): angle in degrees, and the sum of a view's line integrals over the mean of all views. The same in all
     * views for an object that all of them see whole (order 0 of the consistency conditions of Helgason and Ludwig). */
    double *angle, *sum;
    double scatter; /* standard deviation of `sum` that is left behind a moving mean over a 36th of the views: noise */
    double swing;   /* standard deviation of that moving mean: what is inconsistent; NAN where rows do not end in air */
} qb_tool_curve;

/* sod, sdd and pixel in mm; sod 0: parallel rays. `axis`: about which column to look. */
QB_API qb_status qb_tool_curve_of(qb_scan *scan, const qb_prep_options *prep, double sod, double sdd, double axis,
                                  const qb_env *env, qb_tool_curve *curve);
QB_API void qb_tool_curve_clear(qb_tool_curve *curve);

#endif
