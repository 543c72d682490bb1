/* SPDX-License-Identifier: MIT */
#ifndef QB_RECON_ITERATIVE_ITERATIVE_DEVICE_H
#define QB_RECON_ITERATIVE_ITERATIVE_DEVICE_H

#include "ops/vectors_device.h"
#include "recon/iterative/iterative_slabs.h"

/* State of the engine of devices (iterative_device.c). */
typedef struct qb__iterative_on_device {
    qb__iterative_run run; /* first: shared with the CPU's (iterative_prepare.c) */
    int threads;
    qb__joseph_problem problem; /* problem with all views */
    qb__device_pick pick;
    bool apart; /* projected in parts, `slabs`, because the device cannot hold all */
    qb__iterative_slabs slabs;
    struct {
        size_t views; /* views of a block */
        size_t piece; /* floats that pass at a time; 0: all is on the device */
    } spill;          /* vectors that the projections do not need lie in the host's memory (ops/vectors_spill.h) */
    /* while running */
    size_t views; /* views of this rank */
    qb__queue *queue;
    qb__joseph_plan *plan;
    qb__memory *staging;
    qb__device_vectors own;
    qb__vectors vectors;
    void *data, *volume; /* vectors */
    const void *y;       /* those that adjoint() has in hand */
    void *x;
    qb__run some;
} qb__iterative_on_device;

/* Views that go up at a time. */
size_t qb__iterative_piece_views(const qb__iterative_on_device *d, const qb__cut *cut);
/* What goes up and comes down (iterative_device_load.c): as qb__linear.load; the data; the volume. */
qb_status qb__iterative_device_load(void *self, qb__vector_kind kind, const float *numbers, bool only_kept,
                                    void *vector);
qb_status qb__iterative_device_send(qb__iterative_on_device *d, const float *lines);
qb_status qb__iterative_device_fetch(qb__iterative_on_device *d, float scale, float *volume);

#endif
