/* SPDX-License-Identifier: MIT */
#pragma once

#include "device/device.h"
#include "kernels/macros.h"
#include "quickbeam/array.h"

/* Correction by neighbours on a device: input and output are numbers of the scan's type, with the same bits as on the
 * CPU (prep/neighbours.h). */
typedef struct qb__near_rows qb__near_rows;

/* Description of the rows; read only during creation. */
typedef struct qb__near_plan {
    qb_dtype dtype;
    size_t rows, columns;            /* size of the detector */
    const float *dark, *gain, *beam; /* [row][column]: dark, 1 / (flat - dark), flat - dark; NULL: 0, 1, 1 */
    float base, slope;               /* a number n has the variance base + slope * n */
    size_t margin;                   /* number of neighbouring rows needed above and below: 1 */
    size_t views;
    /* [view][2]: numbers of the views before and after; NULL: the step needs only its own view */
    const uint32_t *pairs;
    qb__macros step; /* macros that switch the step on in near_rows.cl */
} qb__near_plan;

/* QB_NO_MEMORY if the device has too little memory. The device must stay open. */
qb_status qb__near_rows_create(qb__device *device, qb__queue *queue, const qb__near_plan *plan, qb__near_rows **out);
void qb__near_rows_destroy(qb__near_rows *near); /* NULL-safe; its queues must be finished first */
/* Device memory of one qb__near_rows. */
size_t qb__near_rows_bytes(size_t rows, size_t columns);

/* A block of `views` views with `slices` rows from row0 on. Output: [view][row - row0][column]. Input: raw[view][row -
 * first][column], with all rows first <= row < end that the step needs. Changed pixels of rows own0 <= row < own1 are
 * counted; own1 0: of all rows. Asynchronous. */
typedef struct qb__near_block {
    size_t views, first, end, row0, slices, own0, own1;
} qb__near_block;
qb_status qb__near_rows_run(const qb__near_rows *near, qb__queue *queue, const qb__near_block *block,
                            const qb__memory *raw, qb__memory *out);
/* Waits for the queue. *changed: number of pixels changed so far. */
qb_status qb__near_rows_found(qb__near_rows *near, qb__queue *queue, uint64_t *changed);
