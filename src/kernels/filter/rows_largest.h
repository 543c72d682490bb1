/* SPDX-License-Identifier: MIT */
#ifndef QB_KERNELS_FILTER_ROWS_LARGEST_H
#define QB_KERNELS_FILTER_ROWS_LARGEST_H

#include "kernels/filter/filter_device.h"

/* The largest magnitude of each slice's filtered rows, which half precision is scaled by, where
 * nothing is known of it beforehand: found on the device, a block of views at a time. A largest
 * value does not depend on the order or the blocks in which it is looked for, so neither does the
 * scale. Infinite values and NaN count for nothing. */
typedef struct qb__rows_largest qb__rows_largest;

qb_status qb__rows_largest_create(qb__device *device, size_t views, unsigned slices, size_t columns,
                                  qb__rows_largest **out);
void qb__rows_largest_destroy(qb__rows_largest *measure); /* NULL-safe */
/* Bytes it holds on the device, and as many on the host. */
size_t qb__rows_largest_bytes(size_t views, unsigned slices);

/* The rows of views view0 <= v < view1 of `slices` slices, as the filter wrote them. Asynchronous.
 */
qb_status qb__rows_largest_run(qb__rows_largest *measure, qb__queue *queue, const qb__device_rows *rows, size_t view0,
                               size_t view1, unsigned slices);

/* Rows of which half precision keeps nothing exact: not one value reaches 2^-26 of its slice's
 * largest, so that all become numbers without their leading bit. */
typedef struct qb__rows_faint {
    uint64_t rows; /* number of such rows */
    float largest; /* largest value of the slices that have such rows */
} qb__rows_faint;

/* Waits for the queue; largest[slice] of all views given to run since the last time, and what was
 * faint added to *faint. */
qb_status qb__rows_largest_found(qb__rows_largest *measure, qb__queue *queue, unsigned slices, float *largest,
                                 qb__rows_faint *faint);

#endif
