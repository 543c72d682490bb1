/* SPDX-License-Identifier: MIT */
#include "recon/device_arrays.h"

#include "base/log.h"
#include "base/memory.h"

enum { PLAIN = sizeof(((qb__locked_ring *)0)->plain) / sizeof(void *) };

static qb_status lock_slot(void *self, size_t bytes, void **slot) {
    qb__locked_ring *ring = self;
    qb_status status = qb__host_create(ring->device, bytes, slot);
    if (status != QB_NO_MEMORY) return status;
    if (!ring->told)
        qb__warn(ring->env, "transfers to the device are slower: %s" QB__CODE("slow-transfers"), qb_detail());
    ring->told = true;
    status = qb__alloc(bytes, 1, slot);
    for (int i = 0; i < PLAIN; i++) {
        if (ring->plain[i]) continue;
        ring->plain[i] = *slot;
        break;
    }
    return status;
}

static void unlock_slot(void *self, void *slot) {
    qb__locked_ring *ring = self;
    for (int i = 0; slot && i < PLAIN; i++) {
        if (ring->plain[i] != slot) continue;
        qb__free(slot);
        ring->plain[i] = NULL;
        return;
    }
    qb__host_destroy(ring->device, slot);
}

qb__slot_maker qb__locked_slots(qb__locked_ring *ring) { return (qb__slot_maker){ring, lock_slot, unlock_slot}; }
