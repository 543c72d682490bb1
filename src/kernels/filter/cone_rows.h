/* SPDX-License-Identifier: MIT */
#pragma once

#include "device/device.h"
#include "geometry/cone_weights.h"
#include "geometry/virtual_detector.h"
#include "quickbeam/recon.h"

/* Makes the rows of a cone beam that are filtered, on a device, from line integrals. Rows are resampled if the detector
 * is tilted or curved, and each pixel is multiplied by its weight. The CPU does the same in recon/fdk/fdk_filter.c;
 * accuracy class high. The values of a row do not depend on the other rows of a block. */
typedef struct qb__cone_rows qb__cone_rows;

/* Description of the rows; read only during creation. */
typedef struct qb__cone_rows_plan {
    /* geometry of the virtual detector, or of the real one if rows are not resampled */
    const qb_geometry *geometry;
    const qb__cone_weights *weights; /* weights of `geometry` */
    /* NULL: rows are not resampled, and line integrals have the columns and rows of `geometry` */
    const qb__virtual_detector *virtual_detector;
    const float *taps;    /* qb__resampler_taps() */
    size_t columns, rows; /* size of the line integrals */
    qb_pad pad;           /* continuation of a row beyond the end of the detector */
} qb__cone_rows_plan;

/* Returns why the device cannot do it, or NULL if it can. */
const char *qb__cone_rows_unfit(const qb__device_info *info);
/* QB_NO_MEMORY if the device has too little memory. The device must stay open. */
qb_status qb__cone_rows_create(qb__device *device, const qb__cone_rows_plan *plan, qb__cone_rows **out);
void qb__cone_rows_destroy(qb__cone_rows *rows);            /* NULL-safe; its queues must be finished first */
size_t qb__cone_rows_bytes(const qb__cone_rows_plan *plan); /* device memory of one qb__cone_rows */

/* A block of views. Input: line integrals of detector rows raw0 <= row < raw1, [view - view0][row - raw0][column].
 * Output: rows row0 <= row < row1 of the geometry, [view - view0][row - row0][weights->before + columns +
 * weights->after]. Without resampling raw0 <= row0 and row1 <= raw1; with it raw0 and raw1 come from
 * qb__virtual_detector_rows. Asynchronous. */
typedef struct qb__cone_rows_block {
    size_t view0, view1, row0, row1, raw0, raw1;
} qb__cone_rows_block;
qb_status qb__cone_rows_run(const qb__cone_rows *rows, qb__queue *queue, const qb__cone_rows_block *block,
                            const qb__memory *lines, qb__memory *out);
