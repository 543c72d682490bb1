/* SPDX-License-Identifier: MIT */
#pragma once

#include "job/volume_out.h"
#include "kernels/convert/convert_device.h"

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
