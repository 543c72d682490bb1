/* SPDX-License-Identifier: MIT */
#ifndef QB_BENCH_CONE_TRIAL_H
#define QB_BENCH_CONE_TRIAL_H

#include "kernels/bp_cone/bp_cone_device.h"

/* The matrices of a full circle of views, for a problem whose other sizes are set: a detector that
 * takes in the grid, the source at twice its larger side. */
qb_status qb__cone_circle(const qb__bp_cone_problem *problem, double (*matrix)[12]);

/* One cone-beam problem on one device, of white noise, on which any variant can be timed and checked. */
typedef struct qb__cone_trial qb__cone_trial;

typedef struct qb__cone_result {
    double seconds;      /* median of the whole back-projection, by the device's own clock */
    double pack_seconds; /* of all views, into the layout of the variant */
    double rel_l2;       /* against the double-precision oracle, in slices all over the volume */
    double giga_updates; /* a second */
    size_t block;        /* views at a time */
} qb__cone_result;

/* Copies the problem's sizes; its matrices are made. QB_NO_MEMORY when it does not fit the device,
 * which must outlive the trial. */
qb_status qb__cone_trial_create(qb__device *device, const qb__bp_cone_problem *sizes,
                                qb__cone_trial **trial);
void qb__cone_trial_destroy(qb__cone_trial *trial); /* NULL-safe */
const qb__bp_cone_problem *qb__cone_trial_problem(const qb__cone_trial *trial);
/* The output is poisoned before. */
qb_status qb__cone_trial_run(qb__cone_trial *trial, const qb__bp_cone_device_variant *variant,
                             const int *values, int repeat, qb__cone_result *result);

#endif
