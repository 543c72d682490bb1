/* SPDX-License-Identifier: MIT */
#pragma once

#include "device/device.h"
#include "kernels/project_joseph/project_joseph_device.h"
#include "ops/vectors.h"

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

/* Volumes and projections as vectors on a device: a vector is a qb__memory in the kernels' layout, with zeros around
 * it. Operations of ops/vectors.h call these functions; a failure is kept in `status` and stops all later work.
 *
 * If device memory is short, vectors of qb__vector_make_spilled() lie in host memory in the same layout: the vector is
 * then the host address. Vectors of equations on the device then hold only `block_views` views. */
typedef struct qb__device_vectors {
    qb__device *device;
    qb__queue *queue; /* borrowed */
    qb__joseph_problem problem;
    struct {
        const char *source;
        qb__program *program;
    } programs[4]; /* compiled when the first of their kernels is used */
    struct {
        const qb__vector_op *op;
        qb__kernel *kernel;
    } kernels[24];
    qb__memory *partial;
    float *sums; /* partial sums of the work groups, in host memory */
    size_t groups;
    struct {
        qb__memory *memory; /* NULL: the vector is in host memory */
        void *host;         /* address of a spilled vector */
        qb__vector_kind kind;
        bool idle; /* released, and kept for the next vector of its kind */
    } made[16];
    int count;
    qb__spill spill;
    size_t block_views; /* 0: all views */
    qb_status status;
    char why[512];
} qb__device_vectors;

/* `vectors` then works on the device. Release with destroy, also after a failure. */
qb_status qb__device_vectors_create(qb__device *device, qb__queue *queue, const qb__joseph_problem *problem,
                                    qb__device_vectors *own, qb__vectors *vectors);
/* Allow spilled vectors, with `piece` floats per transfer. Call it before any vector is made. */
qb_status qb__device_vectors_spread(qb__device_vectors *own, size_t block_views, size_t piece);
/* Allocates now the memory that `count` more vectors of a kind will need. */
qb_status qb__device_vectors_reserve(qb__device_vectors *own, qb__vector_kind kind, size_t count);
void qb__device_vectors_destroy(qb__device_vectors *own); /* also destroys all vectors */
/* Bytes of a vector; bytes that create takes. */
size_t qb__device_vector_bytes(const qb__joseph_problem *problem, qb__vector_kind kind);
size_t qb__device_vectors_bytes(const qb__joseph_problem *problem);
/* The length of a piece is a multiple of this. */
size_t qb__device_vectors_grain(const qb__joseph_problem *problem);
