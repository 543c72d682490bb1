/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "device/device.h"
#include "quickbeam/recon.h"

/* Ways to filter rows (filter_ways.c). */
typedef enum qb__filter_method {
    QB__FILTER_AUTO,
    QB__FILTER_LOCAL,  /* one kernel, with the row in local memory */
    QB__FILTER_PASSES, /* our own transform in device memory, for any length */
    QB__FILTER_CUFFT
} qb__filter_method;

enum { QB__RADICES_MAX = 8 };

/* The passes of a transform, with the last one separate, and their distribution over work items in filter_rows.cl. */
typedef struct qb__filter_plan {
    int radix[QB__RADICES_MAX], passes; /* passes before the last */
    int last;
    size_t items, group_rows; /* work items per row, rows per group */
    size_t groups;            /* number of groups that a multiprocessor should hold at once */
    size_t local_bytes;       /* local memory of a group, in bytes */
} qb__filter_plan;

/* Chooses the radices for `half`, which must be a power of two (at least 2) times 1, 3, 5 or 15; ops/fft.c chooses no
 * other lengths. Returns false for any other length. */
bool qb__filter_radices(size_t half, qb__filter_plan *plan);
/* Makes the whole plan for a device. Returns NULL, or the reason why rows do not fit into local memory. */
const char *qb__filter_plan_make(size_t half, const qb__device_info *device, qb__filter_plan *plan);

/* A row filter in the form for devices. A row is continued to 2 half samples, `left` of them before it, and transformed
 * as `half` complex numbers; ops/filter.c explains the coefficients. Filled by qb__filter_describe(); the arrays belong
 * to the filter. */
typedef struct qb__filter_spectrum {
    size_t columns, half, left;
    qb_pad pad;
    bool identity;                  /* no transform is done, and the arrays are NULL */
    const float *turn, *low, *high; /* [half + 1]; the coefficient of frequency k <= half/2 is at 2k */
} qb__filter_spectrum;
