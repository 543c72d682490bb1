/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdint.h>

#include "kernels/filter/filter_device_parts.h"
#include "kernels/macros.h"
#include "quickbeam/array.h"
#include "quickbeam/scan.h"

/* Detector rows on a device: raw numbers -> line integrals -> filtered and weighted rows. The mathematics, repairs and
 * counts are those of prep/ and ops/filter.c; accuracy class high. Rows that fit into local memory need one kernel,
 * which reads the raw numbers once and writes the rows once. Longer rows use cuFFT or, without cuFFT, our own passes
 * through device memory. */
typedef struct qb__device_filter qb__device_filter;

/* Of the table of stripes that change over the views: numbers of an entry, and entries of a row: at least so many, and
 * one for so many columns. */
enum { QB__DEVICE_COURSE = 5, QB__DEVICE_COURSES = 10, QB__DEVICE_COURSE_COLUMNS = 24 };

/* Preparation of the rows; arrays are read only during creation. */
typedef struct qb__device_prep {
    qb_quantity quantity; /* counts and transmissions: -ln is taken, air and gain are used */
    qb_dtype dtype;       /* type of the raw numbers */
    size_t views;
    const float *weights; /* [views] factors of the filtered rows */
    const float *air;     /* [views] transmission of the open beam; NULL: 1 */
    size_t rows;          /* number of detector rows in the fields */
    const float *dark;    /* [rows][columns]; NULL: 0 */
    const float *gain;    /* [rows][columns] 1/(flat - dark), 0 for dead pixels; NULL: 1 */
    /* Flats that change over the views (io/scan/drift.h): `modes` fields [rows][columns], mode_apart elements from one
     * to the next, and weights [views][modes + 1]. modes 0: flats do not change. */
    size_t modes, mode_apart;
    const float *mode, *drift;
    /* Stripes that change over the views: [rows][course_room][QB__DEVICE_COURSE], as in prep/courses.h; NULL: none. */
    const float *courses;
    size_t course_room;
    float floor; /* smaller transmissions are raised to this value and counted; > 0 */
    float most;  /* larger line integrals count as not measured; 0: QB__MOST_INTEGRAL */
    /* Rows that are extended with zeros on one or both sides: the measured `columns` begin at column `before`, and each
     * is multiplied by its share (geometry/parallel.h). NULL: the raw rows have the columns of the filter; `columns`
     * and `before` are ignored. */
    const float *share; /* [columns]; with share_rows [rows][columns] */
    size_t columns, before;
    bool share_rows;
    const float *view_share; /* [views][columns] additional factors; NULL: 1 */
    qb__macros steps;        /* macros that switch on corrections in prepare_rows.clh */
} qb__device_prep;

/* QB_NO_MEMORY if the device has too little memory. QB_UNSUPPORTED or QB_NO_DEVICE, with the reason, if `method` is not
 * AUTO and is not available. The device must stay open. */
qb_status qb__device_filter_create(qb__device *device, const qb__filter_spectrum *filter, const qb__device_prep *prep,
                                   qb__filter_method method, qb__device_filter **out);
void qb__device_filter_destroy(qb__device_filter *filter); /* NULL-safe; its queues must be finished first */
/* The method for logs, for example "local memory, radices 16 16 8", and why a faster one is not used. */
const char *qb__device_filter_method(const qb__device_filter *filter);
size_t qb__device_filter_bytes(const qb__device_filter *filter); /* device memory that the filter holds */
/* Upper limit of the device memory on such a device, for planning. Not included: cuFFT's work space, whose size only
 * cuFFT knows, and shares for rows or views. */
size_t qb__device_filter_forecast(const qb__device_info *info, const qb__filter_spectrum *filter,
                                  qb__filter_method method, size_t views, size_t rows, size_t modes);

/* Position of the rows of a block of views. The row of the block's i-th view and slice s begins at `offset` bytes, a
 * multiple of the element's size, plus i view_stride + s slice_stride elements. */
typedef struct qb__device_rows {
    qb__memory *memory;
    size_t offset, view_stride, slice_stride;
} qb__device_rows;

/* Filters views view0 <= v < view1 of `slices` slices. Slice s is detector row row0 + s row_step of the prepared
 * fields. Both blocks begin with view0. `filtered` is float32, as pack() of a back-projection reads it; memory between
 * its rows is not written. Asynchronous. A filter has scratch memory, so use it in one queue at a time. It is fastest
 * if columns, offsets and strides are multiples of 4 elements. */
qb_status qb__device_filter_run(qb__device_filter *filter, qb__queue *queue, const qb__device_rows *raw, size_t view0,
                                size_t view1, unsigned slices, size_t row0, size_t row_step,
                                const qb__device_rows *filtered);

/* Number of values repaired since create(), as in qb__prep_counts. Waits for the queue. */
typedef struct qb__device_filter_counts {
    uint64_t clamped, not_finite, dead, saturated;
} qb__device_filter_counts;
qb_status qb__device_filter_found(qb__device_filter *filter, qb__queue *queue, qb__device_filter_counts *counts);
