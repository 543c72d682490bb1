/* SPDX-License-Identifier: MIT */
#ifndef QB_RECON_DEVICE_DOWN_H
#define QB_RECON_DEVICE_DOWN_H

#include "job/volume_out.h"
#include "kernels/convert/convert_device.h"

/* The way of finished slices from a device to the host: converted there where what becomes of a voxel
 * depends on nothing but its value and its place in the slice. Else as floats, and the output's own stage
 * converts them. */
typedef struct qb__down {
    bool converts;
    size_t pixels;  /* of a slice */
    qb_dtype dtype; /* that comes down */
    const qb__mask *mask;
} qb__down;

/* `alike`: the mask is the same of all slices. Observers of images want floats. */
qb__down qb__down_of(const qb_output_options *output, const qb__mask *mask, bool alike);
/* Bytes that `slices` take on the host; that converting them takes on a device, and on the host while it
 * is opened. */
size_t qb__down_host(const qb__down *down, size_t slices);
size_t qb__down_device(const qb__down *down, size_t slices);
size_t qb__down_open_bytes(const qb__down *down);
/* For a device and its queue; up to `slices` at a time. NULL where it does not convert. */
qb_status qb__down_open(const qb__down *down, qb__device *device, qb__queue *queue, const qb__volume_out *volume,
                        size_t slices, qb__convert **convert);
/* `count` slices from `first` on of `slices`; all are converted with the first of them. Asynchronous. `convert` may be NULL. */
qb_status qb__down_run(const qb__down *down, qb__convert *convert, qb__queue *queue, const qb__memory *from,
                       size_t slices, size_t first, size_t count, void *host);
/* Values that had to be clamped are the volume's to report. Waits for the queue. */
qb_status qb__down_count(qb__convert *convert, qb__queue *queue, qb__volume_out *volume);

#endif
