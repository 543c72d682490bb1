/* SPDX-License-Identifier: MIT */
#ifndef QB_RECON_CENTER_PAIRS_H
#define QB_RECON_CENTER_PAIRS_H

#include <stdbool.h>
#include <stddef.h>

#include "quickbeam/status.h"

/* Views i and j that look at the object from opposite sides, up to `gap`: t_j = t_i + pi + gap. */
typedef struct qb__center_pair {
    size_t i, j;
    double gap, weight;
} qb__center_pair;

typedef struct qb__center_pairs {
    qb__center_pair *pair;
    size_t count;
    /* Only the ends of a half turn meet, and not exactly: what is registered shifts in proportion to
     * the gap and must be extrapolated to none. */
    bool one_sided;
} qb__center_pairs;

/* A view whose opposite lies between two measured ones pairs with both, weighted so that the mean
 * gap is none. Where no three such views exist the nearest pairs are taken as they are, up to the gap
 * at which the rim of the object, `radius` columns from the axis, has moved too far. count is 0 when
 * nothing comes close to opposite. */
qb_status qb__center_pairs_find(const double *angles, size_t views, double radius,
                                qb__center_pairs *pairs);
void qb__center_pairs_clear(qb__center_pairs *pairs);

#endif
