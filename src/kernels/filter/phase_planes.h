/* SPDX-License-Identifier: MIT */
#ifndef QB_KERNELS_FILTER_PHASE_PLANES_H
#define QB_KERNELS_FILTER_PHASE_PLANES_H

#include "device/device.h"
#include "quickbeam/array.h"

/* Phase retrieval on a device: numbers of the scan's type in, filtered float32 numbers out, as prep/phase.h says. Views are cut into
 * blocks at the same rows whatever is asked for, and two blocks, a pair, make one complex plane: a pixel has the same bits
 * whatever else is made with it. */
typedef struct qb__phase_planes qb__phase_planes;

/* Sizes of planes. Block i of a view hands out rows i step <= row < (i + 1) step. */
typedef struct qb__phase_shape {
    size_t rows, columns;  /* of the detector */
    size_t step, margin;   /* rows of a block, and more that it looks at on both sides */
    size_t height, stride; /* rows and columns of a plane; qb__filter_radices() knows both */
    size_t left;           /* columns before the detector's first */
} qb__phase_shape;

/* All is read while creating only. */
typedef struct qb__phase_plan {
    qb__phase_shape shape;
    qb_dtype dtype;
    size_t views;                    /* of the scan */
    const float *dark, *gain, *beam; /* [row][column]: taken off; 1 / (flat - dark), flat - dark; NULL: 0 and 1 */
    const unsigned char *stuck;      /* [row][column] 1: a pixel has no value; NULL: all have */
    size_t modes, mode_apart;        /* of flats that change, as in filter_device.h; 0: they do not */
    const float *mode, *drift;
    float top, most; /* numbers from `top` on and transmissions from `most` on are no values */
    /* The transfer function scale / (column + row), [stride] and [height], times 1 + unsharp (1 - G) and over 1 - share G', G and G'
     * products of means; unsharp, share 0: none. offset is added to what comes back. */
    const float *column, *row, *mean_column, *mean_row, *spread_column, *spread_row;
    float scale, unsharp, share, offset;
    size_t at_once; /* views whose planes are held together */
} qb__phase_plan;

/* Why the device cannot; NULL: it can. */
const char *qb__phase_planes_unfit(const qb__device_info *info, const qb__phase_shape *shape, qb_dtype dtype);
/* Device memory that one holds. */
size_t qb__phase_planes_bytes(const qb__phase_plan *plan);
/* QB_NO_MEMORY when the device has no room. The device must stay open. */
qb_status qb__phase_planes_create(qb__device *device, qb__queue *queue, const qb__phase_plan *plan,
                                  qb__phase_planes **out);
void qb__phase_planes_destroy(qb__phase_planes *planes); /* NULL-safe; finish its queue first */

/* Views view0 <= v < view0 + views: rows first <= row < end to out[view][row - first][column], from raw[view][row - row0][column] with
 * rows row0 <= row < row1, which are those that qb__phase_planes_reads() says. Asynchronous; one queue at a time. */
typedef struct qb__phase_block {
    size_t view0, views, row0, row1, first, end;
} qb__phase_block;
/* Sets row0 and row1. */
void qb__phase_planes_reads(const qb__phase_shape *shape, qb__phase_block *block);
qb_status qb__phase_planes_run(qb__phase_planes *planes, qb__queue *queue, const qb__phase_block *block,
                               const qb__memory *raw, qb__memory *out);

#endif
