/* SPDX-License-Identifier: MIT */
#ifndef QB_KERNELS_ICD_ICD_SURROGATE_H
#define QB_KERNELS_ICD_ICD_SURROGATE_H

#include "cpu/icd/icd.h"
#include "device/device.h"

/* Arguments of all kernels of a descent: qb_surrogate of icd_prior.clh, and qb_beam of icd_footprint.clh. */
typedef struct qb__icd_surrogate {
    float scale, least, per_sigma, log_t, power, pole, p, q, close, offset;
} qb__icd_surrogate;

qb__icd_surrogate qb__icd_surrogate_of(const qb__icd_prior *prior);
/* Rays in fixed point, and shapes, as icd_footprint.clh has them; `more` bytes behind the rays. The queue has passed. */
qb_status qb__icd_upload_beam(qb__device *device, qb__queue *queue, const qb__icd_problem *problem, size_t more,
                              qb__memory **rays, qb__memory **shapes);
size_t qb__icd_beam_bytes(const qb__footprints *footprints);
/* icd_footprint.clh's FAN. */
int qb__icd_fan(const qb__footprints *footprints);
/* Columns that wide x high voxels cast their shadows on in a view, at most. */
size_t qb__icd_span(const qb__footprints *footprints, size_t wide, size_t high);
/* Columns of a voxel that buffers must hold (qb__icd_size's taps): of a fan they reach a little farther toward the source than voxels do. */
size_t qb__icd_taps(const qb__footprints *footprints);

#endif
