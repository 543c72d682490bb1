/* SPDX-License-Identifier: MIT */
#pragma once

#include "ops/project_slabs.h"
#include "ops/vectors_device.h"
#include "recon/iterative/iterative.h"

/* Least squares on a device without memory for the whole problem: volume, line integrals and all vectors are in host
 * memory, and slabs of the volume and blocks of views pass through the device. The sums are those of the whole
 * problem. */
typedef struct qb__iterative_slabs {
    qb__slab_cut cut;
    qb__slab_projector projector; /* while running */
    size_t views;
    const qb__iterative *it;
    qb_env quiet; /* only the solver reports progress */
} qb__iterative_slabs;

/* Seconds of one iteration. */
double qb__iterative_slabs_seconds(const qb__iterative_slabs *s, const qb__iterative *it, int threads);
/* Open after the cut is decided. Release with close, also after a failure; a zeroed struct is closed. */
qb_status qb__iterative_slabs_open(qb__iterative_slabs *s, const qb__joseph_problem *problem,
                                   const qb__device_pick *pick, const qb_env *env);
void qb__iterative_slabs_close(qb__iterative_slabs *s);
qb_status qb__iterative_slabs_solve(qb__iterative_slabs *s, qb__iterative_run *r, float *lines, float *volume);

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
    } spill;          /* some vectors are in host memory (ops/vectors_device.h) */
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
