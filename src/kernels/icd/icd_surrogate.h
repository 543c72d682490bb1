/* SPDX-License-Identifier: MIT */
#pragma once

#include "cpu/icd/icd.h"
#include "device/device.h"

/* Arguments of all kernels of a descent: qb_surrogate of icd_prior.clh, and qb_beam of icd_footprint.clh. */
typedef struct qb__icd_surrogate {
    float scale, least, per_sigma, log_t, power, pole, p, q, close, offset;
} qb__icd_surrogate;

qb__icd_surrogate qb__icd_surrogate_of(const qb__icd_prior *prior);
/* Rays in fixed point, and shapes, as in icd_footprint.clh; `more` bytes after the rays. The queue has finished. */
qb_status qb__icd_upload_beam(qb__device *device, qb__queue *queue, const qb__icd_problem *problem, size_t more,
                              qb__memory **rays, qb__memory **shapes);
size_t qb__icd_beam_bytes(const qb__footprints *footprints);
/* FAN of icd_footprint.clh. */
int qb__icd_fan(const qb__footprints *footprints);
/* Largest number of columns that wide x high voxels touch in a view. */
size_t qb__icd_span(const qb__footprints *footprints, size_t wide, size_t high);
/* Columns of a voxel that buffers must hold (taps of qb__icd_size): for a fan, buffers extend a little farther toward
 * the source than voxels. */
size_t qb__icd_taps(const qb__footprints *footprints);
