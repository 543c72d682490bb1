/* SPDX-License-Identifier: MIT */
#ifndef QB_BENCH_TRIAL_KIND_H
#define QB_BENCH_TRIAL_KIND_H

#include "bench/trial/trial.h"
#include "cpu/bp_cone/bp_cone.h"

/* What an operation adds to a trial: its problem, and one attempt at it. Begins its own struct. */
typedef struct qb__trial_kind qb__trial_kind;

struct qb__trial {
    const qb__trial_kind *kind;
    size_t views;
    unsigned all;   /* slices of a planner's question; 1 where an update is one of the whole problem */
    qb__pool *pool; /* the CPU's, for all of the grid; NULL: one thread, or a device */
    /* A device's; NULL on the CPU. */
    qb__device *device;
    qb__queue *queue;
    qb__event *from, *to;
    qb__memory *rows, *out; /* noise; voxels */
    /* Of the attempt in hand. */
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
    /* Everything that all attempts share: `all`, and on a device `rows` and `out`. `release` frees what is its own,
     * also after a failure. */
    qb_status (*make)(qb__trial *trial, const qb__trial_sizes *sizes);
    void (*release)(qb__trial *trial);
    /* An attempt, and result: packed_bytes, block; on the CPU scratch_bytes. Memory of these sizes is made behind it, a
     * device's poisoned. `close`, which may be NULL, also after a failure. */
    qb_status (*open)(qb__trial *trial, qb__trial_result *result);
    void (*close)(qb__trial *trial);
    qb_status (*pack)(qb__trial *trial); /* a block */
    qb_status (*pass)(qb__trial *trial);
    qb_status (*error)(qb__trial *trial, double *rel_l2);
    double (*updates)(const qb__trial *trial); /* number of updates of a pass; NULL: the updates of the whole problem */
};

/* On the CPU: tasks by the threads of the pool, or by the caller. */
void qb__trial_each(qb__trial *trial, size_t count, void (*run)(void *context, size_t task, int worker));

extern const qb__trial_kind qb__trial_parallel, qb__trial_parallel_cpu, qb__trial_cone, qb__trial_cone_cpu,
    qb__trial_joseph;

/* ---- of a cone beam, wherever (trial_cone_circle.c) ---- */

typedef struct qb__cone_trial {
    qb__trial base;
    qb__bp_cone_problem problem; /* the problem as passed to the planner */
    double (*matrix)[12];
    float *largest; /* [views] */
} qb__cone_trial;

qb_status qb__cone_trial_make(qb__cone_trial *trial, const qb__trial_sizes *sizes);
void qb__cone_trial_release(qb__cone_trial *trial);

#endif
