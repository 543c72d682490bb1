/* SPDX-License-Identifier: MIT */
#pragma once

#include "device/device.h"
#include "quickbeam/array.h"

/* Phase retrieval on a device: numbers of the scan's type in, filtered float32 numbers out, as described in
 * prep/phase.h. Views are divided into blocks at the same rows for every request, and two blocks (a pair) make one
 * complex plane. So the bits of a pixel do not depend on the requested range. */
typedef struct qb__phase_planes qb__phase_planes;

/* Sizes of planes. Block i of a view yields rows i step <= row < (i + 1) step. */
typedef struct qb__phase_shape {
    size_t rows, columns;  /* size of the detector */
    size_t step, margin;   /* rows that a block yields, and additional rows that it needs on both sides */
    size_t height, stride; /* rows and columns of a plane; qb__filter_radices() must accept both */
    size_t left;           /* columns added before the first one of the detector */
} qb__phase_shape;

/* Description of the filter; read only during creation. */
typedef struct qb__phase_plan {
    qb__phase_shape shape;
    qb_dtype dtype;
    size_t views;                    /* number of views of the scan */
    const float *dark, *gain, *beam; /* [row][column]: dark, 1 / (flat - dark), flat - dark; NULL: 0, 1, 1 */
    const unsigned char *stuck;      /* [row][column] 1: the pixel is invalid; NULL: all pixels are valid */
    /* modes of flats that change over the views, as in filter_device.h; 0: flats do not change */
    size_t modes, mode_apart;
    const float *mode, *drift;
    float top, most; /* numbers >= top and transmissions >= most are invalid */
    /* The transfer function is scale / (column + row), with column[stride] and row[height], times 1 + unsharp (1 - G),
     * divided by 1 - share G'. G is mean_column times mean_row, G' is spread_column times spread_row; unsharp 0, share
     * 0: without them. offset is added to the result. */
    const float *column, *row, *mean_column, *mean_row, *spread_column, *spread_row;
    float scale, unsharp, share, offset;
    size_t at_once; /* number of views whose planes are held together */
} qb__phase_plan;

/* Returns why the device cannot do it, or NULL if it can. */
const char *qb__phase_planes_unfit(const qb__device_info *info, const qb__phase_shape *shape, qb_dtype dtype);
/* Device memory of one qb__phase_planes. */
size_t qb__phase_planes_bytes(const qb__phase_plan *plan);
/* QB_NO_MEMORY if the device has too little memory. The device must stay open. */
qb_status qb__phase_planes_create(qb__device *device, qb__queue *queue, const qb__phase_plan *plan,
                                  qb__phase_planes **out);
void qb__phase_planes_destroy(qb__phase_planes *planes); /* NULL-safe; its queue must be finished first */

/* Filters views view0 <= v < view0 + views. Output: rows first <= row < end to out[view][row - first][column]. Input:
 * raw[view][row - row0][column] with rows row0 <= row < row1, as set by qb__phase_planes_reads(). Asynchronous; use one
 * queue at a time. */
typedef struct qb__phase_block {
    size_t view0, views, row0, row1, first, end;
} qb__phase_block;
/* Sets row0 and row1 of the block from first and end. */
void qb__phase_planes_reads(const qb__phase_shape *shape, qb__phase_block *block);
qb_status qb__phase_planes_run(qb__phase_planes *planes, qb__queue *queue, const qb__phase_block *block,
                               const qb__memory *raw, qb__memory *out);
