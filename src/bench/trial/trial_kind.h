/* SPDX-License-Identifier: MIT */
#pragma once

#include "bench/trial/trial.h"
#include "cpu/bp_cone/bp_cone.h"

/* The part of a trial that depends on the operation: the problem, and one attempt at computing it. A kind's own struct
 * begins with qb__trial. */
typedef struct qb__trial_kind qb__trial_kind;

struct qb__trial {
    const qb__trial_kind *kind;
    size_t views;
    unsigned all;   /* slices in the question for the planner; 1 if an update concerns the whole problem */
    qb__pool *pool; /* CPU: threads that compute the whole grid; NULL: one thread, or a device */
    /* device only; NULL on the CPU */
    qb__device *device;
    qb__queue *queue;
    qb__event *from, *to;
    qb__memory *rows, *out; /* noise; voxels */
    /* the current attempt */
    const qb__variant *row;
    const int *values;
    unsigned slices;
    qb__memory *packed;           /* device only */
    char *views_packed, *scratch; /* CPU only; scratch: [thread][scratch_bytes] */
    size_t scratch_bytes;
};

struct qb__trial_kind {
    qb__operation operation;
    bool on_device;
    size_t bytes, problem; /* size of the kind's struct; offset of the problem in it */
    /* make: creates everything that attempts share: `all`, and on a device `rows` and `out`. release: frees what `make`
     * allocated in the kind's own struct, also after a failure. */
    qb_status (*make)(qb__trial *trial, const qb__trial_sizes *sizes);
    void (*release)(qb__trial *trial);
    /* open: begins an attempt and sets packed_bytes and block of the result, on the CPU also scratch_bytes. Then the
     * caller allocates memory of these sizes, poisoned on a device. close: may be NULL; also called after a failure. */
    qb_status (*open)(qb__trial *trial, qb__trial_result *result);
    void (*close)(qb__trial *trial);
    qb_status (*pack)(qb__trial *trial); /* packs one block of views */
    qb_status (*pass)(qb__trial *trial);
    qb_status (*error)(qb__trial *trial, double *rel_l2);
    double (*updates)(const qb__trial *trial); /* number of updates of a pass; NULL: the updates of the whole problem */
};

/* CPU: runs tasks on the threads of the pool, or in the caller's thread. */
void qb__trial_each(qb__trial *trial, size_t count, void (*run)(void *context, size_t task, int worker));

extern const qb__trial_kind qb__trial_parallel, qb__trial_parallel_cpu, qb__trial_cone, qb__trial_cone_cpu,
    qb__trial_joseph;

/* ---- cone beam, on devices and the CPU (trial_cone_circle.c) ---- */

typedef struct qb__cone_trial {
    qb__trial base;
    qb__bp_cone_problem problem; /* the problem as passed to the planner */
    double (*matrix)[12];
    float *largest; /* [views] */
} qb__cone_trial;

qb_status qb__cone_trial_make(qb__cone_trial *trial, const qb__trial_sizes *sizes);
void qb__cone_trial_release(qb__cone_trial *trial);
