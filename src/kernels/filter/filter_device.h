/* SPDX-License-Identifier: MIT */
#ifndef QB_KERNELS_FILTER_FILTER_DEVICE_H
#define QB_KERNELS_FILTER_FILTER_DEVICE_H

#include <stdint.h>

#include "device/device.h"
#include "kernels/filter/filter_plan.h"
#include "kernels/filter/filter_spectrum.h"
#include "kernels/macros.h"
#include "quickbeam/array.h"
#include "quickbeam/scan.h"

/* Detector rows on a device: raw numbers -> line integrals -> filtered, weighted rows. The same
 * mathematics, repairs and counts as prep/ and ops/filter.c; accuracy class high. Rows that fit
 * into local memory take one kernel, which reads the raw numbers once and writes the rows once;
 * longer ones go through cuFFT, or through passes of our own where there is none. */
typedef struct qb__device_filter qb__device_filter;

/* What prepares the rows; arrays are read while creating only. */
typedef struct qb__device_prep {
    qb_quantity quantity; /* counts, transmission: -ln; air and gain are for them */
    qb_dtype dtype;       /* type of the raw numbers */
    size_t views;
    const float *weights; /* [views] what filtered rows are multiplied by */
    const float *air;     /* [views] transmission of open beam; NULL = 1 */
    size_t rows;          /* detector rows that the fields have */
    const float *dark;    /* [rows][columns]; NULL = 0 */
    const float *gain;    /* [rows][columns] 1/(flat - dark), 0 where dead; NULL = 1 */
    /* Flats that change over the views (io/scan/drift.h): modes x [rows][columns], mode_apart elements from one to the next,
     * and weights [views][modes + 1]. 0 modes: they do not. */
    size_t modes, mode_apart;
    const float *mode, *drift;
    float floor; /* transmissions below are raised to it, and counted; > 0 */
    float most;  /* line integrals of a larger size were not measured; 0: QB__MOST_INTEGRAL */
    /* Rows that are wider than what was measured, zeros beside it: its `columns` begin at column
     * `before`, each times its share (ops/half_fan.h). NULL: the filter's columns are the raw ones,
     * and the two are not looked at. */
    const float *share; /* [columns], or share_rows: [rows][columns] */
    size_t columns, before;
    bool share_rows;
    const float *view_share; /* [views][columns] factors on the shares; NULL = 1 */
    qb__macros steps;        /* switch on the corrections of prepare_rows.clh */
} qb__device_prep;

/* QB_NO_MEMORY when the device has no room. QB_UNSUPPORTED, QB_NO_DEVICE when `method` is not AUTO
 * and cannot be had, with the reason. The device must stay open. */
qb_status qb__device_filter_create(qb__device *device, const qb__filter_spectrum *filter, const qb__device_prep *prep,
                                   qb__filter_method method, qb__device_filter **out);
void qb__device_filter_destroy(qb__device_filter *filter); /* NULL-safe; finish its queues first */
/* For logs: "local memory, radices 16 16 8", and why not something faster. */
const char *qb__device_filter_method(const qb__device_filter *filter);
size_t qb__device_filter_bytes(const qb__device_filter *filter); /* device memory it holds */
/* What it will hold at most on such a device, for planning; cuFFT's work space, which only it knows,
 * comes to it, and shares beyond those of the columns. */
size_t qb__device_filter_forecast(const qb__device_info *info, const qb__filter_spectrum *filter,
                                  qb__filter_method method, size_t views, size_t rows, size_t modes);

/* Where the rows of a block of views stand: that of the block's i-th view and slice s begins at
 * `offset` bytes, a multiple of the element's, plus i view_stride + s slice_stride elements. */
typedef struct qb__device_rows {
    qb__memory *memory;
    size_t offset, view_stride, slice_stride;
} qb__device_rows;

/* Views view0 <= v < view1 of `slices` slices, slice s being detector row row0 + s row_step of the
 * prepared fields; both blocks begin with view0. `filtered` is float32, what pack() of a
 * back-projection reads; between its rows nothing is written. Asynchronous. A filter is for one
 * queue at a time (it has scratch memory). Fastest when columns, offsets and strides divide by 4
 * elements. */
qb_status qb__device_filter_run(qb__device_filter *filter, qb__queue *queue, const qb__device_rows *raw, size_t view0,
                                size_t view1, unsigned slices, size_t row0, size_t row_step,
                                const qb__device_rows *filtered);

/* What was mended since create(); as qb__prep_counts. Waits for the queue. */
typedef struct qb__device_filter_counts {
    uint64_t clamped, not_finite, dead, saturated;
} qb__device_filter_counts;
qb_status qb__device_filter_found(qb__device_filter *filter, qb__queue *queue, qb__device_filter_counts *counts);

#endif
