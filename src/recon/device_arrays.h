/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/comm.h"
#include "device/device.h"
#include "io/tensor/tensor_device.h"
#include "job/pipeline.h"
#include "job/volume_out.h"
#include "kernels/convert/convert_device.h"
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

/* Copies finished slices from a device to the host. They are converted on the device if the conversion of a voxel
 * depends only on its value and its position in the slice. Otherwise floats are downloaded, and the output's stage
 * converts them. */
typedef struct qb__down {
    bool converts;
    size_t pixels;  /* pixels of a slice */
    qb_dtype dtype; /* type that is downloaded */
    const qb__mask *mask;
} qb__down;

/* `alike`: all slices have the same mask. Observers of images need floats. */
qb__down qb__down_of(const qb_output_options *output, const qb__mask *mask, bool alike);
/* Bytes of `slices` on the host; bytes for the conversion on the device, and on the host while it is opened. */
size_t qb__down_host(const qb__down *down, size_t slices);
size_t qb__down_device(const qb__down *down, size_t slices);
size_t qb__down_open_bytes(const qb__down *down);
/* Open for a device and its queue, for up to `slices` at a time. *convert = NULL if nothing is converted. */
qb_status qb__down_open(const qb__down *down, qb__device *device, qb__queue *queue, const qb__volume_out *volume,
                        size_t slices, qb__convert **convert);
/* Copy slices first .. first + count - 1 of `slices`; the call with first = 0 converts all of them. Asynchronous.
 * `convert` may be NULL. */
qb_status qb__down_run(const qb__down *down, qb__convert *convert, qb__queue *queue, const qb__memory *from,
                       size_t slices, size_t first, size_t count, void *host);
/* Add the number of clamped values to the volume's report. Waits for the queue. */
qb_status qb__down_count(qb__convert *convert, qb__queue *queue, qb__volume_out *volume);

/* Sums slabs on devices over the columns of a grid of ranks. (reconstruction_reduce.c does it on hosts.) Runs of slices
 * are transferred from device to device by NCCL, or through host memory and MPI. The device adds them in the order of
 * columns and leaves the sum at the front of the slab. Both ways give the same bits. */
typedef struct qb__device_sum qb__device_sum;

/* Device and host bytes needed for slabs of `slab` bytes. */
size_t qb__device_sum_bytes(int columns, size_t slab);
size_t qb__device_sum_host(int columns, size_t slab);
qb_status qb__device_sum_open(qb__device *device, const qb__comm_grid *ranks, size_t slab, qb__device_sum **sum);
/* Collective over the row, after each rank has opened: find out whether NCCL can be used, and begin to connect. NCCL is
 * not used for little data (`bytes` of a rank) unless QB_LIBNCCL names it. */
qb_status qb__device_sum_begin(qb__device_sum *sum, double bytes);
/* Collective: sum a slab of `slices` slices of `values` floats each. Waits for the result. */
qb_status qb__device_sum_run(qb__device_sum *sum, qb__memory *slab, size_t slices, size_t values);
/* Collective: no more sums; called as qb__stage.barrier. */
qb_status qb__device_sum_barrier(qb__device_sum *sum, qb_status status);
/* The transport, such as "NCCL 2.27.3", or the hosts and why. */
void qb__device_sum_report(const qb__device_sum *sum, char words[256]);
void qb__device_sum_close(qb__device_sum *sum); /* NULL-safe */

/* Makes the slots of a ring between host and device in page-locked memory. If no more memory can be locked, it takes
 * plain memory and warns once: transfers are slower, results are the same. */
typedef struct qb__locked_ring {
    qb__device *device;
    const qb_env *env;
    void *plain[3]; /* slots that are not page-locked */
    bool told;
} qb__locked_ring;

qb__slot_maker qb__locked_slots(qb__locked_ring *ring);
