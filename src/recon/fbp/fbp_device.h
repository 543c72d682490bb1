/* SPDX-License-Identifier: MIT */
#pragma once

#include "kernels/bp_parallel/bp_parallel_device.h"
#include "kernels/filter/filter_device.h"
#include "kernels/filter/near_rows.h"
#include "planner/device_pick.h"
#include "prep/phase.h"
#include "recon/device_arrays.h"
#include "recon/fbp/fbp.h"

/* Devices as an engine of filtered back-projection. The host reads raw numbers and writes slices. Upload, computing
 * (prepare, filter, pack, back-project) and download are separate stages, each with its own queue, so that they work on
 * different chunks at the same time. Devices divide the slices of each chunk. */
typedef struct qb__fbp_part {
    qb__device *device;
    qb__queue *up, *compute, *down;
    /* problem of this part, with the largest values of its pass if they are measured */
    qb__bp_parallel_problem problem;
    qb__device_pass pass;
    qb__near_rows *near;   /* corrects rows by their neighbours; NULL: the rows are corrected already */
    qb__memory *corrected; /* corrected rows of a chunk */
    qb__convert *convert;  /* converts slices before they are downloaded; NULL: they are downloaded as floats */
} qb__fbp_part;

/* A slot in device memory: for each part, its raw numbers or its slices. */
typedef struct qb__fbp_slot {
    qb__memory *memory[QB__DEVICES_MAX];
} qb__fbp_slot;

typedef struct qb__fbp_devices qb__fbp_devices;

/* Makes the slots of one ring, on devices or on the host. */
typedef struct qb__fbp_ring {
    qb__fbp_devices *gpu;
    size_t slice_bytes; /* bytes of a slice on the devices */
    size_t more;        /* slices that a slot holds in addition to those of a chunk */
    qb__locked_ring host;
} qb__fbp_ring;
enum { QB__RING_READ, QB__RING_RAW, QB__RING_SLABS, QB__RING_DOWN, QB__RINGS };

/* Decided by fbp_device_plan.c; opened and closed by fbp_device_open.c; the rings are written by their allocators. */
struct qb__fbp_devices {
    const qb__fbp *fbp;
    qb__device_pick pick;
    size_t parts;                    /* devices that share a chunk */
    qb__bp_parallel_problem problem; /* problem of fbp; its `largest` is set even if the values are to be measured */
    /* rows above and below a chunk that are uploaded with it; 0: the host corrects rows */
    size_t near;
    /* the kernel needs the largest values and they are unknown: each pass measures them */
    bool measure;
    qb__down way_down;
    qb__fbp_part part[QB__DEVICES_MAX];
    qb__fbp_ring ring[QB__RINGS];
    /* while running */
    qb__fbp *plan;            /* the same as fbp, writable: the engine may take over reading */
    qb__device_arrays arrays; /* arrays used in place */
    qb__phase_kept kept;      /* rows that phase retrieval left on the device, used in place; memory NULL: none */
    const qb__running *run;
    qb__cut cut;
};

/* ---- rows of the engine's table ---- */

/* fbp_device_plan.c */
qb_status qb__fbp_device_decide(const qb__task *task, void *plan, const qb_env *env, qb__offer *offer);
qb__room qb__fbp_device_memory(void *state, const qb__cut *cut);
double qb__fbp_device_seconds(void *state, const qb__cut *cut);
void qb__fbp_device_facts(void *state, const qb__cut *cut, qb__job_facts *facts);
/* Set the forecasts of the stages: `upload` and the two stages after it. */
void qb__fbp_device_forecast(const qb__fbp_devices *gpu, const qb__cut *cut, qb__stage *upload);
/* fbp_device_open.c */
qb_status qb__fbp_device_open(void *state, const qb__cut *cut, const qb__running *run);
qb_status qb__fbp_device_finish(void *state, cJSON *report, qb__prep_counts *counts);
void qb__fbp_device_close(void *state);

/* fbp_device_arrays.c: projections that are already in the memory of the computing device. NULL: they are elsewhere, or
 * rows are resampled and so pass the CPU. */
qb__tensor_device *qb__fbp_device_has(const qb__fbp_devices *gpu);
/* True if phase retrieval leaves its rows on the device. */
bool qb__fbp_device_keeps(const qb__fbp_devices *gpu);
/* Copy a chunk's raw numbers into a slot. Asynchronous. */
qb_status qb__fbp_device_take(const qb__fbp_devices *gpu, size_t chunk, qb__memory *raw);

/* Number of slices that part p has of `slices` slices; *first: the first of them. */
size_t qb__fbp_share(const qb__fbp_devices *gpu, size_t slices, size_t p, size_t *first);
/* Bytes of a slice of a slab; and bytes that are uploaded for a slice: raw numbers, or line integrals if rows were
 * resampled. */
static inline size_t qb__fbp_slab_slice(const qb__fbp *fbp) { return fbp->grid.n[0] * fbp->grid.n[1] * sizeof(float); }
static inline size_t qb__fbp_up_slice(const qb__fbp *fbp) {
    return fbp->info->views * (fbp->roll.maps ? fbp->info->columns * sizeof(float) : qb__fbp_raw_row(fbp));
}

/* fbp_device_roll.c: the stage in which the CPU resamples rows before the upload. Its slots are page-locked and hold
 * float [slice][view][column]. */
qb__stage qb__fbp_device_roll(qb__fbp_devices *gpu, const qb__cut *cut, qb__slot_maker maker);
size_t qb__fbp_device_scratch(const qb__fbp_devices *gpu, const qb__cut *cut); /* bytes of scratch per thread */
