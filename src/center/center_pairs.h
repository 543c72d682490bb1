/* SPDX-License-Identifier: MIT */
#ifndef QB_CENTER_CENTER_PAIRS_H
#define QB_CENTER_CENTER_PAIRS_H

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
    size_t *view, views; /* those that occur in pairs */
    double opposed;      /* the share of views, of those looked at, that have an opposite */
    double noise;        /* of the weighted mean over the pairs, one pair's being 1 */
    bool one_sided;      /* only the ends of a half turn meet: few pairs, extrapolated */
} qb__center_pairs;

/* A view whose opposite lies between two measured ones pairs with both, weighted as for linear
 * interpolation: what is registered moves in proportion to the angle by which a pair misses the
 * opposite, and so cancels. Where no three such views exist, as in a half turn, the opposite of a
 * view at one end lies just past the other end and is extrapolated, with a negative weight, from
 * two views there; they are so far apart that the rim of the object, `radius` columns from the
 * axis, moves by a column or more. count is 0 when nothing comes close to opposite. */
qb_status qb__center_pairs_find(const double *angles, size_t views, double radius, qb__center_pairs *pairs);
void qb__center_pairs_clear(qb__center_pairs *pairs);

#endif
