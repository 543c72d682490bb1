/* SPDX-License-Identifier: MIT */
#pragma once

#include "ops/vectors_device.h"
#include "recon/iterative/iterative_slabs.h"

/* State of the engine for devices (iterative_device.c). */
typedef struct qb__iterative_on_device {
    qb__iterative_run run; /* must be the first member; the CPU's engine begins with the same (iterative_prepare.c) */
    int threads;
    qb__joseph_problem problem; /* problem with all views */
    qb__device_pick pick;
    bool apart; /* the volume is projected in parts by `slabs`, because the device cannot hold all */
    qb__iterative_slabs slabs;
    struct {
        size_t views; /* views of a block */
        size_t piece; /* floats of a spilled vector that are transferred at a time; 0: all vectors are on the device */
    } spill;          /* some vectors are in host memory (ops/vectors_spill.h) */
    /* while running */
    size_t views; /* views of this rank */
    qb__queue *queue;
    qb__joseph_plan *plan;
    qb__memory *staging;
    qb__device_vectors own;
    qb__vectors vectors;
    void *data, *volume; /* vectors */
    const void *y;       /* the vectors and the views of the current adjoint() */
    void *x;
    qb__run some;
} qb__iterative_on_device;

/* Number of views that are uploaded at a time. */
size_t qb__iterative_piece_views(const qb__iterative_on_device *d, const qb__cut *cut);
/* Transfers (iterative_device_load.c): load a vector as qb__linear.load does; send the data; fetch the volume. */
qb_status qb__iterative_device_load(void *self, qb__vector_kind kind, const float *numbers, bool only_kept,
                                    void *vector);
qb_status qb__iterative_device_send(qb__iterative_on_device *d, const float *lines);
qb_status qb__iterative_device_fetch(qb__iterative_on_device *d, float scale, float *volume);
