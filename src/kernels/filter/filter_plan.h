/* SPDX-License-Identifier: MIT */
#ifndef QB_KERNELS_FILTER_FILTER_PLAN_H
#define QB_KERNELS_FILTER_FILTER_PLAN_H

#include "device/device.h"

/* The ways of filtering (filter_ways.c). */
typedef enum qb__filter_method {
    QB__FILTER_AUTO,
    QB__FILTER_LOCAL,  /* one kernel, the row in local memory */
    QB__FILTER_PASSES, /* our own transform through device memory, any length */
    QB__FILTER_CUFFT
} qb__filter_method;

enum { QB__RADICES_MAX = 8 };

/* The passes of a transform, the last one apart, and how filter_rows.cl shares them out. */
typedef struct qb__filter_plan {
    int radix[QB__RADICES_MAX], passes; /* without the last */
    int last;
    size_t items, group_rows; /* work items of a row, rows of a group */
    size_t groups;            /* groups that a multiprocessor should hold at once */
    size_t local_bytes;       /* local memory of a group */
} qb__filter_plan;

/* The radices of `half`: 2, 4, ... times 1, 3, 5 or 15 (ops/fft.c chooses no other length). False
 * for any other. */
bool qb__filter_radices(size_t half, qb__filter_plan *plan);
/* The whole plan for a device. Returns NULL, or why rows cannot stay in local memory. */
const char *qb__filter_plan_make(size_t half, const qb__device_info *device, qb__filter_plan *plan);

#endif
