/* SPDX-License-Identifier: MIT */
#pragma once

#include "ops/project_slabs.h"
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
