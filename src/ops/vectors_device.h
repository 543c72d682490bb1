/* SPDX-License-Identifier: MIT */
#ifndef QB_OPS_VECTORS_DEVICE_H
#define QB_OPS_VECTORS_DEVICE_H

#include "kernels/project_joseph/project_joseph_device.h"
#include "ops/vectors.h"
#include "ops/vectors_spill.h"

/* Volumes and projections as vectors on a device: a vector is a qb__memory in the kernels' order, zeros around
 * it. What ops/vectors.h does goes through hooks; a failure stays in `status` and ends what follows.
 *
 * Where there is no room for all, those of qb__vector_make_spilled() lie in the host's memory, in the same order: a vector is then the
 * address there. Vectors of equations on the device then hold `block_views` views only. */
typedef struct qb__device_vectors {
    qb__device *device;
    qb__queue *queue; /* borrowed */
    qb__joseph_problem problem;
    struct {
        const char *source;
        qb__program *program;
    } programs[4]; /* compiled when the first of their kernels is asked for */
    struct {
        const qb__vector_op *op;
        qb__kernel *kernel;
    } kernels[24];
    qb__memory *partial;
    float *sums; /* partial sums of the work groups, on the host */
    size_t groups;
    struct {
        qb__memory *memory; /* NULL: */
        void *host;         /* spilled */
        qb__vector_kind kind;
        bool idle; /* dropped, for the next one of its kind */
    } made[16];
    int count;
    qb__spill spill;
    size_t block_views; /* 0: all */
    qb_status status;
    char why[512];
} qb__device_vectors;

/* `vectors` then does its work on the device. Release with destroy, also on failure. */
qb_status qb__device_vectors_create(qb__device *device, qb__queue *queue, const qb__joseph_problem *problem,
                                    qb__device_vectors *own, qb__vectors *vectors);
/* From now on, before any is made: vectors may be spilled, of which `piece` floats pass at a time. */
qb_status qb__device_vectors_spread(qb__device_vectors *own, size_t block_views, size_t piece);
/* Takes now what so many more of a kind will need together. */
qb_status qb__device_vectors_reserve(qb__device_vectors *own, qb__vector_kind kind, size_t count);
void qb__device_vectors_destroy(qb__device_vectors *own); /* and all vectors made */
/* Bytes of a vector; of what create takes. */
size_t qb__device_vector_bytes(const qb__joseph_problem *problem, qb__vector_kind kind);
size_t qb__device_vectors_bytes(const qb__joseph_problem *problem);
/* A piece is a multiple of this. */
size_t qb__device_vectors_grain(const qb__joseph_problem *problem);

#endif
