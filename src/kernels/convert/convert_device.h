/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/convert.h"
#include "device/device.h"

/* Converts slices of floats on a device to the type of the file before the download. This halves or quarters the bytes,
 * and gives the same bits as on the host. */
typedef struct qb__convert qb__convert;

typedef struct qb__convert_what {
    qb__conversion to;           /* QB_U8, QB_U16, QB_F16 */
    size_t pixels, slices;       /* pixels of a slice; slices at a time, at most */
    const unsigned char *hidden; /* [pixels] pixels that are not 0 become `instead`; NULL = none. Copied */
    float instead, shift;        /* shift: subtracted from every value afterwards */
} qb__convert_what;

/* Bytes of device memory. */
size_t qb__convert_bytes(qb_dtype dtype, size_t pixels, size_t slices, bool hidden);
/* Create it; waits for the queue. */
qb_status qb__convert_create(qb__device *device, qb__queue *queue, const qb__convert_what *what, qb__convert **out);
void qb__convert_destroy(qb__convert *convert); /* NULL-safe */
/* Convert `slices` from the memory's beginning; then copy some of them to the host, dense. Asynchronous: `host` must
 * stay. */
qb_status qb__convert_run(qb__convert *convert, qb__queue *queue, const qb__memory *from, size_t slices);
qb_status qb__convert_fetch(qb__convert *convert, qb__queue *queue, size_t first, size_t count, void *host);
/* Number of values so far that the type cannot hold, including NAN. Waits for the queue. */
qb_status qb__convert_outside(qb__convert *convert, qb__queue *queue, uint64_t *outside);
