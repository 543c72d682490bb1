/* SPDX-License-Identifier: MIT */
#ifndef QB_RECON_FDK_FDK_DEVICE_H
#define QB_RECON_FDK_FDK_DEVICE_H

#include "kernels/bp_cone/bp_cone_device.h"
#include "planner/device_costs.h"
#include "planner/device_select.h"
#include "recon/fdk/fdk_filter.h"
#include "recon/locked_ring.h"

/* A device as an engine of FDK: the CPU filters a block of views while the device back-projects the one
 * before it and others are on their way. Filter (into page-locked memory), upload, back-project (a slab
 * gathers all blocks of views), download: stages of their own, with a queue each. */
typedef struct qb__fdk_gpu qb__fdk_gpu;

/* Makes device memory of so many bytes. */
typedef struct qb__fdk_ring {
    const qb__fdk_gpu *gpu;
    size_t bytes;
} qb__fdk_ring;

struct qb__fdk_gpu {
    const qb__fdk *fdk;
    int threads;
    size_t value_bytes; /* of a voxel in the file */
    qb__device_set set;
    qb__device *device;
    qb__choice choice;
    qb__device_costs costs;
    bool compiled; /* the kernel's programs are in the cache */
    double rows, raw_rows; /* of the cut in hand: what all slabs take together */
    qb__fdk_ring blocks, slabs;
    qb__locked_ring filtered, down;
    /* while running */
    const qb__running *run;
    qb__fdk_filter filter;
    qb__queue *up, *compute, *out;
    qb__bp_cone_plan *plan;
    qb__memory *packed;
};

/* The largest block and window of a cut; bytes of such a block's rows, and of a slab. */
qb__bp_cone_most qb__fdk_gpu_most(const qb__fdk_gpu *gpu, const qb__cut *cut);
size_t qb__fdk_gpu_block(const qb__fdk_gpu *gpu, const qb__cut *cut);
size_t qb__fdk_gpu_slab(const qb__fdk_gpu *gpu, const qb__cut *cut);
static inline unsigned qb__fdk_gpu_slabs(const qb__cut *cut) { return cut->slabs > 1 ? cut->slots : 1; }

/* ---- rows of the engine's table (fdk_device_plan.c) ---- */

qb_status qb__fdk_gpu_decide(const qb__task *task, void *plan, const qb_env *env, qb__offer *offer);
void qb__fdk_gpu_cut(void *state, const qb__cut *cut, const size_t *edge);
qb__room qb__fdk_gpu_memory(void *state, const qb__cut *cut);
double qb__fdk_gpu_seconds(void *state, const qb__cut *cut);
double qb__fdk_gpu_start(void *state);
qb_status qb__fdk_gpu_no_room(void *state, const qb__cut *least, const qb__room *cap, const qb_env *env);
void qb__fdk_gpu_tell(void *state, const qb_env *env);
void qb__fdk_gpu_describe(void *state, const qb__cut *cut, cJSON *plan);

#endif
