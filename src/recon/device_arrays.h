/* SPDX-License-Identifier: MIT */
#pragma once

#include "io/tensor/tensor_device.h"
#include "planner/device_pick.h"
#include "recon/engine.h"

/* The caller's arrays in the memory of the computing device: used in place, without copies through the host. */
typedef struct qb__device_arrays {
    qb__tensor_device *from, *to; /* projections and volume; NULL = not on this device */
} qb__device_arrays;

/* The devices that env stands for; if it names none, the one that holds the scan's projections is preferred. scan: NULL
 * = the input is not a scan. */
qb_status qb__device_set_near(qb_scan *scan, const qb_env *env, qb__device_set *set);
/* The array, or the scan's projections, if they are on this device; else NULL. */
qb__tensor_device *qb__device_array_on(qb__tensor_device *array, const qb__device *device);
qb__tensor_device *qb__projections_on(qb_scan *scan, const qb__device *device);

/* Decide which arrays are used in place, after the queues exist: `from` as given; the volume if it is on the device and
 * slices need no conversion. Waits for the caller's work on them. */
qb_status qb__device_arrays_attach(qb__device_arrays *arrays, qb__tensor_device *from, const qb__device *device,
                                   qb__queue *up, qb__queue *down, const qb__running *run);
void qb__device_arrays_detach(qb__device_arrays *arrays, const qb__running *run);
/* Copy images first <= z < first + count of n[0] x n[1] floats from a slab, where they begin at image `from`, into the
 * volume. Asynchronous. */
qb_status qb__device_arrays_put(const qb__device_arrays *arrays, qb__queue *down, const qb__memory *slab, size_t from,
                                size_t first, size_t count, const size_t *n);

/* Slots without memory, for data that are used in place. */
extern const qb__slot_maker qb__token_slots;
