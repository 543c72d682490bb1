/* SPDX-License-Identifier: MIT */
#pragma once

#include "device/device.h"
#include "job/pipeline.h"

/* Makes the slots of a ring between host and device in page-locked memory. If no more memory can be locked, it takes
 * plain memory and warns once: transfers are slower, results are the same. */
typedef struct qb__locked_ring {
    qb__device *device;
    const qb_env *env;
    void *plain[3]; /* slots that are not page-locked */
    bool told;
} qb__locked_ring;

qb__slot_maker qb__locked_slots(qb__locked_ring *ring);
