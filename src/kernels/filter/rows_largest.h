/* SPDX-License-Identifier: MIT */
#pragma once

#include "kernels/filter/filter_device.h"

/* Finds the largest magnitude of the filtered rows of each slice, on the device, a block of views at a time. Half
 * precision is scaled by it if no bound is known before. A maximum does not depend on the order or on the blocks, so
 * neither does the scale. Infinite values and NaN are ignored. */
typedef struct qb__rows_largest qb__rows_largest;

qb_status qb__rows_largest_create(qb__device *device, size_t views, unsigned slices, size_t columns,
                                  qb__rows_largest **out);
void qb__rows_largest_destroy(qb__rows_largest *measure); /* NULL-safe */
/* Bytes held on the device; the host holds as many. */
size_t qb__rows_largest_bytes(size_t views, unsigned slices);

/* Reads the rows of views view0 <= v < view1 of `slices` slices, as the filter wrote them. Asynchronous. */
qb_status qb__rows_largest_run(qb__rows_largest *measure, qb__queue *queue, const qb__device_rows *rows, size_t view0,
                               size_t view1, unsigned slices);

/* Rows that half precision cannot represent exactly: all their values are below 2^-26 of the largest value of the
 * slice, so they become subnormal numbers. */
typedef struct qb__rows_faint {
    uint64_t rows; /* number of such rows */
    float largest; /* largest value of the slices that have such rows */
} qb__rows_faint;

/* Waits for the queue. Sets largest[slice] over all views passed to run since the last call, and adds the number of
 * such rows to *faint. */
qb_status qb__rows_largest_found(qb__rows_largest *measure, qb__queue *queue, unsigned slices, float *largest,
                                 qb__rows_faint *faint);
