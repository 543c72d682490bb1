/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "quickbeam/recon.h"

/* A row filter in the form for devices. A row is continued to 2 half samples, `left` of them before it, and transformed
 * as `half` complex numbers; ops/filter.c explains the coefficients. Filled by qb__filter_describe(); the arrays belong
 * to the filter. */
typedef struct qb__filter_spectrum {
    size_t columns, half, left;
    qb_pad pad;
    bool identity;                  /* no transform is done, and the arrays are NULL */
    const float *turn, *low, *high; /* [half + 1]; the coefficient of frequency k <= half/2 is at 2k */
} qb__filter_spectrum;
