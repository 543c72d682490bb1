/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>

#include "quickbeam/status.h"

/* The threads of the library that compute. Work comes in batches of independent tasks; batches of higher priority go
 * first, so that the last stages of a pipeline are served first. */
typedef struct qb__pool qb__pool;

typedef struct qb__batch {
    void (*run)(void *context, size_t task, int worker); /* worker: 0 .. threads - 1 */
    void (*done)(void *context);                         /* called by the worker that finishes last; may be NULL */
    void *context;
    size_t count;
    int priority;
    /* fields of the pool */
    size_t next, finished;
    struct qb__batch *link;
} qb__batch;

qb_status qb__pool_create(int threads, qb__pool **pool); /* 0 = one thread per CPU of this process */
void qb__pool_destroy(qb__pool *pool);                   /* waits for running batches; NULL-safe */
int qb__pool_threads(const qb__pool *pool);
/* `batch` belongs to the caller, who must not change it until done() has been called. */
void qb__pool_submit(qb__pool *pool, qb__batch *batch);
/* Run `count` tasks and return when all are done. Not from inside a task. */
void qb__pool_for(qb__pool *pool, size_t count, void (*run)(void *context, size_t task, int worker), void *context);
/* Processor time of all tasks of qb__pool_for so far, for stages of a pipeline that let others compute. */
double qb__pool_for_seconds(const qb__pool *pool);
