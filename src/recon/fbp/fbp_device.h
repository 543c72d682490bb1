/* SPDX-License-Identifier: MIT */
#ifndef QB_RECON_FBP_FBP_DEVICE_H
#define QB_RECON_FBP_FBP_DEVICE_H

#include "kernels/bp_parallel/device_pass.h"
#include "kernels/filter/filter_device.h"
#include "planner/device_backproject.h"
#include "planner/device_select.h"
#include "recon/fbp/fbp.h"

/* Filtered back-projection on devices. The host reads raw numbers and writes slices; upload, the
 * work itself (prepare, filter, pack, back-project) and download are stages of their own, each with
 * a queue, so that all three run at once on different chunks. Devices share each chunk by slices.
 */
enum { QB__FBP_SLOTS = 2 };

typedef struct qb__fbp_part {
    qb__device *device;
    qb__queue *up, *compute, *down;
    qb__bp_parallel_problem problem; /* with the largest values of this part's pass, if measured */
    qb__device_pass pass;
    qb__memory *raw[QB__FBP_SLOTS], *slab[QB__FBP_SLOTS];
} qb__fbp_part;

struct qb__fbp_device {
    qb__device_set set;
    qb__device_choice choice;
    qb__bp_parallel_problem problem; /* fbp's, its largest values said to be known: see measure */
    bool measure;                    /* they are not, the kernel needs them: each pass finds them */
    size_t block;                    /* views filtered at a time */
    bool less;                       /* is done at a time than was planned, for want of room */
    size_t bytes;                    /* of the largest share, forecast for each device */
    const qb_env *env;               /* while running */
    void *plain[2];                  /* rings that are not page-locked */
    qb__fbp_part part[QB__DEVICES_MAX];
};

/* Choose device and kernel; fbp->device stays NULL when the CPU computes. Says what was chosen. */
qb_status qb__fbp_device_decide(qb__fbp *fbp, const qb_env *env);
/* Chunks that fit devices and host. A device that nobody named and that has no room for a slice is
 * left to itself: fbp->device is NULL then. */
qb_status qb__fbp_device_chunks(qb__fbp *fbp, const qb_env *env);
/* What devices that compute in the host's memory hold of it, as forecast; 0 for others. */
size_t qb__fbp_device_ram(const qb__fbp *fbp);
/* Before the pipeline runs, after fbp->prepare is there; a device that runs out of memory gets
 * smaller chunks, and when nothing fits is left as in qb__fbp_device_chunks. */
qb_status qb__fbp_device_open(qb__fbp *fbp, const qb_env *env);
/* The forecasts of what is done at a time now. */
void qb__fbp_device_forecast(qb__fbp *fbp);
/* It ran out of memory, and why is in the detail: an error, or fbp->device is NULL. */
qb_status qb__fbp_device_leave(qb__fbp *fbp, const qb_env *env);
/* What the devices had to mend, added to *counts; what half precision could not hold is said. */
qb_status qb__fbp_device_counts(qb__fbp *fbp, const qb_env *env, qb__prep_counts *counts);
void qb__fbp_device_close(qb__fbp *fbp);   /* what open made; NULL-safe */
void qb__fbp_device_destroy(qb__fbp *fbp); /* everything */
/* The stages between reading and converting; returns how many. */
int qb__fbp_device_stages(const qb__fbp *fbp, size_t slices, unsigned slots, qb__stage *stages);
/* For the raw numbers' ring: page-locked memory. */
qb_status qb__fbp_device_ring(void *job, size_t bytes, void **ring);
void qb__fbp_device_free_ring(void *job, void *ring);

#endif
