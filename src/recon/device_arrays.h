/* SPDX-License-Identifier: MIT */
#ifndef QB_RECON_DEVICE_ARRAYS_H
#define QB_RECON_DEVICE_ARRAYS_H

#include "io/tensor_device.h"
#include "planner/device_pick.h"
#include "recon/engine.h"

/* Projections and a volume of the caller's that are in the memory of the device that computes: used where they
 * are, with no way through the host. */
typedef struct qb__device_arrays {
    qb__tensor_device *from, *to; /* NULL = none, or elsewhere */
} qb__device_arrays;

/* As qb__device_pick_open; where nobody said where, the device that the projections are on goes before the first. */
qb_status qb__device_pick_near(qb_scan *scan, const qb_env *env, qb__device_pick *pick, bool *named);
/* The array, if it is one and on this device, else NULL; the scan's projections likewise. */
qb__tensor_device *qb__device_array_on(qb__tensor_device *array, const qb__device *device);
qb__tensor_device *qb__projections_on(qb_scan *scan, const qb__device *device);

/* Which are used in place, once the queues are there: `from` as given, the volume if it is on the device and the slices
 * go there as they are made. Whatever the caller has queued for them comes first. */
qb_status qb__device_arrays_attach(qb__device_arrays *arrays, qb__tensor_device *from, const qb__device *device,
                                   qb__queue *up, qb__queue *down, const qb__running *run);
void qb__device_arrays_detach(qb__device_arrays *arrays, const qb__running *run);
/* Images first <= z < first + count of n[0] x n[1] floats, dense in a slab from its image `from` on, to where they belong;
 * asynchronous. */
qb_status qb__device_arrays_put(const qb__device_arrays *arrays, qb__queue *down, const qb__memory *slab, size_t from,
                                size_t first, size_t count, const size_t *n);

/* Slots that only count: what they stand for is in place. */
extern const qb__slot_maker qb__token_slots;

#endif
