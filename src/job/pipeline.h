/* SPDX-License-Identifier: MIT */
#ifndef QB_JOB_PIPELINE_H
#define QB_JOB_PIPELINE_H

#include "base/pool.h"
#include <stdbool.h>

#include "quickbeam/env.h"

/* The stages that every reconstruction streams through: chunk by chunk, each stage handing its output
 * to the next in a ring of `slots` buffers. A stage works on one chunk at a time; all stages work at
 * once. Computing stages share the pool, later ones first; blocking ones (reading, writing) have a
 * thread of their own. Chunks pass every stage in order. */
typedef struct qb__stage {
    const char *name;
    bool blocking;
    size_t slots;      /* buffers in its output ring; 0 for the last stage */
    size_t gather;     /* chunks that go into one output, which is a chunk to the next stage; 0 = 1.
                          All of them get the same `out`, in order */
    size_t slot_bytes; /* bytes of one */
    /* The ring's memory where it is special (page-locked); NULL = ordinary. */
    qb_status (*create)(void *job, size_t bytes, void **ring);
    void (*destroy)(void *job, void *ring); /* NULL-safe */
    /* Independent tasks that make up a chunk; NULL = 1. */
    size_t (*tasks)(void *job, size_t chunk);
    /* in: the previous stage's buffer of this chunk (NULL for the first); out: this stage's. */
    qb_status (*run)(void *job, size_t chunk, size_t task, int worker, const void *in, void *out);
} qb__stage;

enum { QB__STAGES_MAX = 8 };

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

/* Bytes of all rings. */
size_t qb__pipeline_bytes(const qb__stage *stages, int count);
/* `chunks` is what the first stage makes; it divides by every `gather`. Run to the end, to the first
 * failure (its status and detail come back here) or to cancellation. */
qb_status qb__pipeline_run(const qb__stage *stages, int count, size_t chunks, void *job,
                           qb__pool *pool, const qb_env *env, qb__pipeline_report *report);

#endif
