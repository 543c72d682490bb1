/* SPDX-License-Identifier: MIT */
#pragma once

#include "device/device.h"
#include "io/plain/source.h"
#include "io/tensor/tensor.h"

/* qb__tensor_device is a caller's array in the memory of a CUDA device, with the caller's stream: work queued there
 * before a copy is requested comes first. QB_NO_DEVICE without the device, QB_BAD_ARGUMENT for an address that is not
 * there. */
typedef struct qb__tensor_device qb__tensor_device;
qb_status qb__tensor_device_open(const qb__tensor *tensor, qb__tensor_device **array);
void qb__tensor_device_close(qb__tensor_device *array); /* NULL-safe */
const qb__tensor *qb__tensor_of(const qb__tensor_device *array);
/* True if it is in this device's memory. */
bool qb__tensor_device_is(const qb__tensor_device *array, const qb__device *device);
/* Make the queue, of the same device, wait for the caller's work queued so far. */
qb_status qb__tensor_device_await(qb__tensor_device *array, qb__queue *queue);

/* Copy count[0] x count[1] x count[2] elements between the array, `stride` elements apart from the one at `first` on,
 * and `memory`, `other` elements apart from `offset` bytes on. No stride in `other` is negative. */
typedef struct qb__tensor_block {
    ptrdiff_t first;
    size_t count[3];
    ptrdiff_t stride[3], other[3];
} qb__tensor_block;
/* Images first <= i < first + count of the array, dense in memory. */
qb__tensor_block qb__tensor_images(const qb__tensor_device *array, size_t first, size_t count);
/* Start of image `first` if the array's images are dense and contiguous; NULL = they are not. */
qb__memory *qb__tensor_device_dense(const qb__tensor_device *array, size_t first, size_t *offset);
/* Copy to memory of the same device, and from it; asynchronous, on the queue. */
qb_status qb__tensor_device_take(qb__tensor_device *array, qb__queue *queue, const qb__tensor_block *block,
                                 qb__memory *to, size_t offset);
qb_status qb__tensor_device_put(qb__tensor_device *array, qb__queue *queue, const qb__tensor_block *block,
                                const qb__memory *from, size_t offset);

/* Copy from and to dense images in host memory, through page-locked memory; thread-safe. */
qb_status qb__tensor_device_read(qb__tensor_device *array, const qb__region *region, void *out);
qb_status qb__tensor_device_write(qb__tensor_device *array, size_t first, size_t end, const void *data);
