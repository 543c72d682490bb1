/* SPDX-License-Identifier: MIT */
#ifndef QB_KERNELS_FILTER_NEAR_ROWS_H
#define QB_KERNELS_FILTER_NEAR_ROWS_H

#include "device/device.h"
#include "kernels/macros.h"
#include "quickbeam/array.h"

/* A correction by neighbours on a device: numbers of the scan's type in and out, the bits of the CPU (prep/neighbours.h). */
typedef struct qb__near_rows qb__near_rows;

/* What rows are; all is read while creating only. */
typedef struct qb__near_plan {
    qb_dtype dtype;
    size_t rows, columns;            /* of the detector */
    const float *dark, *gain, *beam; /* [row][column]: taken off; 1 / (flat - dark), flat - dark; NULL: 0 and 1 */
    float base, slope;               /* a number n has the variance base + slope * n */
    size_t margin;                   /* rows above and below that are looked at: 1 */
    size_t views;
    const uint32_t *pairs; /* [view][2]: views before and after, where these are looked at; NULL: they are not */
    qb__macros step;       /* that switch the step on in near_rows.cl */
} qb__near_plan;

/* QB_NO_MEMORY when the device has no room. The device must stay open. */
qb_status qb__near_rows_create(qb__device *device, qb__queue *queue, const qb__near_plan *plan, qb__near_rows **out);
void qb__near_rows_destroy(qb__near_rows *near); /* NULL-safe; finish its queues first */
/* Device memory that one holds. */
size_t qb__near_rows_bytes(size_t rows, size_t columns);

/* `views` views of `slices` rows from row0 on: [view][row - row0][column] from raw[view][row - first][column], which has all rows
 * first <= row < end that the step looks at. Asynchronous. */
typedef struct qb__near_block {
    size_t views, first, end, row0, slices;
} qb__near_block;
qb_status qb__near_rows_run(const qb__near_rows *near, qb__queue *queue, const qb__near_block *block,
                            const qb__memory *raw, qb__memory *out);
/* Waits for the queue; pixels that were changed so far. */
qb_status qb__near_rows_found(qb__near_rows *near, qb__queue *queue, uint64_t *changed);

#endif
