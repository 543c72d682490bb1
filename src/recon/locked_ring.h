/* SPDX-License-Identifier: MIT */
#ifndef QB_RECON_LOCKED_RING_H
#define QB_RECON_LOCKED_RING_H

#include "device/device.h"
#include "job/pipeline.h"

/* Makes the slots of a ring between host and device: page-locked, or, where no more memory can be
 * locked, plain, which is said once: transfers are slower and results the same. */
typedef struct qb__locked_ring {
    qb__device *device;
    const qb_env *env;
    void *plain[3]; /* those that are not page-locked, of the most that a ring has */
    bool told;
} qb__locked_ring;

qb__slot_maker qb__locked_slots(qb__locked_ring *ring);

#endif
