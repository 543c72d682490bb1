/* SPDX-License-Identifier: MIT */
#pragma once

#include "device/device.h"

/* Adds floats as the CPU does: the same bits. */
typedef struct qb__sum qb__sum;

qb_status qb__sum_create(qb__device *device, qb__sum **sum);
void qb__sum_destroy(qb__sum *sum); /* NULL-safe */
/* Add `count` floats of `from`, from `from_at` on, to those of `to`; asynchronous. Ranges of the same memory must not
 * overlap. */
qb_status qb__sum_add(const qb__sum *sum, qb__queue *queue, qb__memory *to, size_t to_at, const qb__memory *from,
                      size_t from_at, size_t count);
