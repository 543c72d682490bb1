/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "quickbeam/status.h"

/* Views view[i] and view[j] look at the object from nearly opposite sides. */
typedef struct qb__center_pair {
    size_t i, j;
    double weight;
} qb__center_pair;

typedef struct qb__center_pairs {
    qb__center_pair *pair;
    size_t count;
    size_t *view, views; /* the views that occur in pairs */
    double opposed;      /* fraction of the examined views that have an opposite */
    double noise;        /* standard deviation of the weighted mean over all pairs, relative to that of one pair */
    /* only views at the ends of half a turn are opposite: there are few pairs, some of them extrapolated */
    bool one_sided;
} qb__center_pairs;

/* If the direction opposite to a view lies between two measured views, the view is paired with both, weighted as for
 * linear interpolation. The shift that registration measures is proportional to the angle by which a pair misses the
 * opposite direction, so these errors cancel.
 *
 * If fewer than three such views exist, as in half a turn, the opposite of a view at one end lies just past the other
 * end. It is then extrapolated from two views there, one with a negative weight. These two are so far apart that the
 * rim of the object, `radius` columns from the axis, moves by a column or more. count is 0 if no views are nearly
 * opposite. */
qb_status qb__center_pairs_find(const double *angles, size_t views, double radius, qb__center_pairs *pairs);
void qb__center_pairs_clear(qb__center_pairs *pairs);
