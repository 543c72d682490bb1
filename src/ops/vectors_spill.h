/* SPDX-License-Identifier: MIT */
#pragma once

#include "device/device.h"

/* Vectors of a device that lie in host memory. An operation takes them piece by piece: while the device computes, the
 * next piece is uploaded and the previous one is downloaded. */
enum { QB__SPILL_OPERANDS = 2, QB__SPILL_SLOTS = 2 };

typedef struct qb__spill_slot {
    qb__memory *operand[QB__SPILL_OPERANDS];
    qb__event *sent, *used, *taken;
} qb__spill_slot;

typedef struct qb__spill {
    size_t piece; /* floats of a piece; 0: no vector is spilled */
    qb__queue *up, *down;
    qb__spill_slot slot[QB__SPILL_SLOTS];
} qb__spill;

/* Bytes of device memory. */
static inline size_t qb__spill_bytes(size_t piece) {
    return QB__SPILL_SLOTS * QB__SPILL_OPERANDS * piece * sizeof(float);
}
/* Release with destroy, also after a failure. */
qb_status qb__spill_create(qb__device *device, size_t piece, qb__spill *spill);
void qb__spill_destroy(qb__spill *spill); /* NULL members are allowed */
/* Running downloads finish before `queue`, or the host if it is NULL, continues. */
qb_status qb__spill_await(qb__spill *spill, qb__queue *queue);
/* Piece `number` of an operation: `floats` floats of each of `from` are uploaded, and the queue waits for them; after
 * the queue has computed, the piece is downloaded to each of `to`. NULL: none. */
qb_status qb__spill_send(qb__spill *spill, qb__queue *queue, size_t number, float *const *from, size_t floats);
qb_status qb__spill_take(qb__spill *spill, qb__queue *queue, size_t number, float *const *to, size_t floats);
