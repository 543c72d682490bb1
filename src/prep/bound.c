/* SPDX-License-Identifier: MIT */
/* How large a prepared value can be. */
#include <math.h>
#include <stddef.h>

#include "prep/prep.h"

double qb__prep_bound(qb_quantity quantity, const qb_prep_options *options) {
    const double LOGARITHM = 89, LOOSEST = 1000;
    double bent = 1;
    if (quantity == QB_LINE_INTEGRAL) return INFINITY;
    for (int i = 0; options && i < options->hardening.count; i++)
        bent += fabs(options->hardening.value[i]) * pow(LOGARITHM, i + 1);
    return bent <= LOOSEST ? LOGARITHM * bent : INFINITY;
}
