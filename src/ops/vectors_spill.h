/* SPDX-License-Identifier: MIT */
#ifndef QB_OPS_VECTORS_SPILL_H
#define QB_OPS_VECTORS_SPILL_H

#include "device/device.h"

/* Vectors of a device that lie in the host's memory. An operation takes them piece by piece: the next piece goes up, and the one before
 * comes down, while the device computes. */
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

/* Bytes of the device. */
static inline size_t qb__spill_bytes(size_t piece) {
    return QB__SPILL_SLOTS * QB__SPILL_OPERANDS * piece * sizeof(float);
}
/* Release with destroy, also on failure. */
qb_status qb__spill_create(qb__device *device, size_t piece, qb__spill *spill);
void qb__spill_destroy(qb__spill *spill); /* NULL members are fine */
/* What is still coming down is there before `queue`, or the host where that is NULL, goes on. */
qb_status qb__spill_await(qb__spill *spill, qb__queue *queue);
/* Piece `number` of an operation: `floats` from each of `from` go up, and the queue waits for them; then, once the queue has computed, it
 * is taken down to each of `to`. NULL: there is none. */
qb_status qb__spill_send(qb__spill *spill, qb__queue *queue, size_t number, float *const *from, size_t floats);
qb_status qb__spill_take(qb__spill *spill, qb__queue *queue, size_t number, float *const *to, size_t floats);

#endif
