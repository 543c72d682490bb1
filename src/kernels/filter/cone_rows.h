/* SPDX-License-Identifier: MIT */
#ifndef QB_KERNELS_FILTER_CONE_ROWS_H
#define QB_KERNELS_FILTER_CONE_ROWS_H

#include "device/device.h"
#include "geometry/cone_weights.h"
#include "geometry/virtual_detector.h"
#include "quickbeam/recon.h"

/* Rows of a cone beam on a device, between their line integrals and their filter: read anew where the detector is turned or bent,
 * times the weights that each pixel has in each view. What the CPU does in recon/fdk/fdk_filter.c; accuracy class high.
 * A row does not depend on what else is made with it. */
typedef struct qb__cone_rows qb__cone_rows;

/* What rows are; all is read while creating only. */
typedef struct qb__cone_rows_plan {
    const qb_geometry *geometry;     /* the upright detector's, or the detector itself */
    const qb__cone_weights *weights; /* weights of the geometry */
    /* NULL: nothing is read anew, and line integrals have the geometry's columns and rows */
    const qb__virtual_detector *virtual_detector;
    const float *taps;    /* qb__resampler_taps() */
    size_t columns, rows; /* size of the line integrals */
    qb_pad pad;           /* how a row goes on where the detector ends */
} qb__cone_rows_plan;

/* Why the device cannot; NULL: it can. */
const char *qb__cone_rows_unfit(const qb__device_info *info);
/* QB_NO_MEMORY when the device has no room. The device must stay open. */
qb_status qb__cone_rows_create(qb__device *device, const qb__cone_rows_plan *plan, qb__cone_rows **out);
void qb__cone_rows_destroy(qb__cone_rows *rows);            /* NULL-safe; finish its queues first */
size_t qb__cone_rows_bytes(const qb__cone_rows_plan *plan); /* device memory that one holds */

/* A block of views: line integrals of detector rows raw0 <= row < raw1 in, [view - view0][row - raw0][column], rows row0 <= row < row1
 * of the geometry out, [view - view0][row - row0][weights->before + columns + weights->after].
 * Without `upright` raw0 <= row0 and row1 <= raw1; with it as from qb__virtual_detector_rows. Asynchronous. */
typedef struct qb__cone_rows_block {
    size_t view0, view1, row0, row1, raw0, raw1;
} qb__cone_rows_block;
qb_status qb__cone_rows_run(const qb__cone_rows *rows, qb__queue *queue, const qb__cone_rows_block *block,
                            const qb__memory *lines, qb__memory *out);

#endif
