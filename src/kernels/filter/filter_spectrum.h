/* SPDX-License-Identifier: MIT */
#ifndef QB_KERNELS_FILTER_FILTER_SPECTRUM_H
#define QB_KERNELS_FILTER_FILTER_SPECTRUM_H

#include <stdbool.h>
#include <stddef.h>

#include "quickbeam/recon.h"

/* A row filter as every device applies it: a row is continued to 2 half samples, `left` of them
 * before it, and transformed as `half` complex numbers; ops/filter.c says what the coefficients do.
 * From qb__filter_describe(); the arrays are the filter's. */
typedef struct qb__filter_spectrum {
    size_t columns, half, left;
    qb_pad pad;
    bool identity;                  /* no transform, and none of the arrays */
    const float *turn, *low, *high; /* [half + 1]; frequency k <= half/2 at 2k */
} qb__filter_spectrum;

#endif
