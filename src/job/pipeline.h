/* SPDX-License-Identifier: MIT */
#ifndef QB_JOB_PIPELINE_H
#define QB_JOB_PIPELINE_H

#include <stdbool.h>

#include "base/pool.h"
#include "job/progress_rate.h"
#include "quickbeam/env.h"

/* Who makes the buffers of a ring. A slot is whatever its stage and the next agree on: host memory,
 * page-locked memory, a handle of device memory. */
typedef struct qb__slot_maker {
    void *self;
    qb_status (*create)(void *self, size_t bytes, void **slot); /* NULL: zeroed host memory */
    void (*destroy)(void *self, void *slot);                    /* NULL-safe */
} qb__slot_maker;

/* The stages that every reconstruction streams through: chunk by chunk, each stage handing its output
 * to the next in a ring of `slots` buffers. A stage works on one chunk at a time; all stages work at
 * once. Computing stages share the pool, later ones first; blocking ones (reading, writing, devices)
 * have a thread of their own. Chunks pass every stage in order. */
typedef struct qb__stage {
    const char *name;
    void *self; /* owner of the stage, the first argument of its calls */
    bool blocking;
    size_t slots;  /* buffers in its output ring; 0 for the last stage */
    bool in_place; /* its output is its input, changed, in the slot that it came in: no ring, and no gather. Not the
                          first stage, nor the last */
    size_t gather; /* chunks that go into one output, which is a chunk to the next stage; 0 = 1.
                          All of them get the same `out`, in order */
    size_t
        scatter; /* outputs that one chunk before becomes, one after the other: chunks of this stage and those behind it; all get
                          the same `in`, which is used up with the last. 0 = 1; not the first stage, nor with gather or in_place */
    size_t slot_bytes; /* bytes of host memory in a slot */
    size_t last_bytes; /* bytes of a slot that the last chunk uses, which may be smaller; 0 = all */
    qb__slot_maker maker;
    /* Independent tasks that make up a chunk; NULL = 1. */
    size_t (*tasks)(void *self, size_t chunk);
    /* in: the previous stage's slot of this chunk (NULL for the first); out: this stage's. */
    qb_status (*run)(void *self, size_t chunk, size_t task, int worker, const void *in, void *out);
    /* A blocking stage's thread has done all its chunks, or will do no more of them: `status` says which, and is the
     * detail. What it returns but QB_OK fails the pipeline. NULL = nobody waits for it. */
    qb_status (*barrier)(void *self, qb_status status);
    double all_seconds; /* forecast of all its chunks, for the plan alone, where `forecast` is 0; 0 = not known */
    double forecast;    /* seconds that a chunk is expected to take, in one thread; 0 = not known */
    size_t first;       /* chunks that take the forecast time; 0: all do */
    double later;       /* time of a chunk after the first ones, relative to the forecast */
    double
        reads; /* bytes of the input that the first stage takes in all chunks, the same ones again counted again; 0 = all of
                        them once */
    /* Processor time so far of threads that run() has work for it; NULL = none but its own. */
    double (*cpu_seconds)(void *self);
} qb__stage;

typedef struct qb__stage_time {
    const char *name;
    double cpu_seconds;  /* of all threads that ran it */
    double busy_seconds; /* wall time during which it had a chunk in hand */
} qb__stage_time;

typedef struct qb__pipeline_report {
    double wall_seconds;
    int stages;
    qb__stage_time stage[QB__STAGES_MAX];
} qb__pipeline_report;

/* Bytes that all rings will hold when `chunks` pass the first stage. */
size_t qb__pipeline_bytes(const qb__stage *stages, int count, size_t chunks);

typedef struct qb__pipeline qb__pipeline;

/* Makes all slots: QB_NO_MEMORY when there is no room for them. `chunks` is what the first stage
 * makes; it divides by every `gather`, and multiplies by every `scatter`. The stages are copied, what they refer to must stay. */
qb_status qb__pipeline_create(const qb__stage *stages, int count, size_t chunks, qb__pipeline **line);
/* What progress is called; the last stage's name unless it is set. The name must stay. Progress counts thousandths
 * of the time that all will take, as far as can be told from what is done: at the beginning, after every chunk of
 * the last stage, and some times a second. */
void qb__pipeline_call(qb__pipeline *line, const char *name);
/* Of `all` outputs, each of so many chunks of every stage, only these `count` are made, in that order; calls are given the
 * numbers that the chunks have among all. Before it runs; the list must stay. */
void qb__pipeline_only(qb__pipeline *line, size_t all, const size_t *outputs, size_t count);
/* Once: run to the end, to the first failure (its status and detail come back here) or to
 * cancellation. `pool` may be NULL when all stages block. */
qb_status qb__pipeline_run(qb__pipeline *line, qb__pool *pool, const qb_env *env, qb__pipeline_report *report);
void qb__pipeline_destroy(qb__pipeline *line); /* NULL-safe */

#endif
