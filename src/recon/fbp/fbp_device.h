/* SPDX-License-Identifier: MIT */
#ifndef QB_RECON_FBP_FBP_DEVICE_H
#define QB_RECON_FBP_FBP_DEVICE_H

#include "kernels/bp_parallel/device_pass.h"
#include "kernels/filter/filter_device.h"
#include "kernels/filter/near_rows.h"
#include "planner/device_pick.h"
#include "prep/neighbours.h"
#include "prep/phase.h"
#include "recon/device_arrays.h"
#include "recon/device_down.h"
#include "recon/fbp/fbp.h"
#include "recon/locked_ring.h"

/* Devices as an engine of filtered back-projection. The host reads raw numbers and writes slices;
 * upload, the work itself (prepare, filter, pack, back-project) and download are stages of their own,
 * each with a queue, so that all three run at once on different chunks. Devices share each chunk by
 * slices. */
typedef struct qb__fbp_part {
    qb__device *device;
    qb__queue *up, *compute, *down;
    qb__bp_parallel_problem problem; /* problem with the largest values of this part's pass, if they are measured */
    qb__device_pass pass;
    qb__near_rows *near;   /* corrects rows by their neighbours; NULL: they come corrected */
    qb__memory *corrected; /* corrected rows of a chunk */
    qb__convert *convert;  /* converts slices before they are downloaded; NULL: they are downloaded as floats */
} qb__fbp_part;

/* A slot on the devices: the raw numbers, or the slices, of each part. */
typedef struct qb__fbp_slot {
    qb__memory *memory[QB__DEVICES_MAX];
} qb__fbp_slot;

typedef struct qb__fbp_devices qb__fbp_devices;

/* Makes the slots of one ring, on devices or on the host. */
typedef struct qb__fbp_ring {
    qb__fbp_devices *gpu;
    size_t slice_bytes; /* bytes of a slice on the devices */
    size_t more;        /* slices, beside those of a chunk */
    qb__locked_ring host;
} qb__fbp_ring;
enum { QB__RING_READ, QB__RING_RAW, QB__RING_SLABS, QB__RING_DOWN, QB__RINGS };

/* Decided by fbp_device_plan.c, opened and closed by fbp_device_open.c, rings by their own makers. */
struct qb__fbp_devices {
    const qb__fbp *fbp;
    qb__device_pick pick;
    size_t parts;                    /* devices that share a chunk */
    qb__bp_parallel_problem problem; /* fbp's, its largest values said to be known: see measure */
    size_t near;                     /* rows above and below a chunk that come with it; 0: the host corrects */
    bool measure;                    /* they are not, the kernel needs them: each pass finds them */
    qb__down way_down;
    qb__fbp_part part[QB__DEVICES_MAX];
    qb__fbp_ring ring[QB__RINGS];
    /* while running */
    qb__fbp *plan;            /* the same as fbp, to leave reading to these here */
    qb__device_arrays arrays; /* used in place */
    qb__phase_kept kept;      /* rows that phase retrieval left there, used in place; memory NULL: none */
    const qb__running *run;
    qb__cut cut;
};

/* ---- rows of the engine's table ---- */

/* fbp_device_plan.c */
qb_status qb__fbp_device_decide(const qb__task *task, void *plan, const qb_env *env, qb__offer *offer);
qb__room qb__fbp_device_memory(void *state, const qb__cut *cut);
double qb__fbp_device_seconds(void *state, const qb__cut *cut);
void qb__fbp_device_facts(void *state, const qb__cut *cut, qb__job_facts *facts);
/* Seconds of its stages: upload, and the two behind it. */
void qb__fbp_device_forecast(const qb__fbp_devices *gpu, const qb__cut *cut, qb__stage *upload);
/* fbp_device_open.c */
qb_status qb__fbp_device_open(void *state, const qb__cut *cut, const qb__running *run);
qb_status qb__fbp_device_finish(void *state, cJSON *report, qb__prep_counts *counts);
void qb__fbp_device_close(void *state);

/* fbp_device_arrays.c: projections that are in the memory of the device that computes. Where they are, or NULL:
 * rows that are resampled pass the CPU. */
qb__tensor_device *qb__fbp_device_has(const qb__fbp_devices *gpu);
/* Whether phase retrieval leaves its rows there. */
bool qb__fbp_device_keeps(const qb__fbp_devices *gpu);
/* A chunk's raw numbers into a slot. */
qb_status qb__fbp_device_take(const qb__fbp_devices *gpu, size_t chunk, qb__memory *raw);

/* Slices of `slices` that part p has, the first of them in *first. */
size_t qb__fbp_share(const qb__fbp_devices *gpu, size_t slices, size_t p, size_t *first);
/* Bytes of a slab's slice, of what goes up for one: raw numbers, or line integrals of level rows. */
static inline size_t qb__fbp_slab_slice(const qb__fbp *fbp) { return fbp->grid.n[0] * fbp->grid.n[1] * sizeof(float); }
static inline size_t qb__fbp_up_slice(const qb__fbp *fbp) {
    return fbp->info->views * (fbp->roll.maps ? fbp->info->columns * sizeof(float) : qb__fbp_raw_row(fbp));
}

/* fbp_device_roll.c: the CPU's stage before the upload where rows are resampled; its slots, page-locked, hold
 * float [slice][view][column]. */
qb__stage qb__fbp_device_roll(qb__fbp_devices *gpu, const qb__cut *cut, qb__slot_maker maker);
size_t qb__fbp_device_scratch(const qb__fbp_devices *gpu, const qb__cut *cut); /* bytes of scratch per thread */

#endif
