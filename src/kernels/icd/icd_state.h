/* SPDX-License-Identifier: MIT */
#pragma once

#include "kernels/icd/icd_device.h"

/* Copies memory of a device through the host, a block at a time: parts of a state to be stored or restored. */
typedef struct qb__icd_state_part {
    qb__memory *memory;
    size_t bytes;
} qb__icd_state_part;
qb_status qb__icd_pass_state(qb__queue *queue, const qb__icd_state_part *parts, size_t count, size_t block, bool into,
                             qb__icd_piece piece, void *self);

/* Uploads line integrals of views from `view` on; with a filter (may be NULL), they go behind the place of as many
 * views, and their filtered rows to that place. Asynchronous. */
qb_status qb__icd_upload_views(qb__queue *queue, const float *lines, size_t view, size_t views,
                               qb__device_filter *filter, const qb__device_rows *to);
