/* SPDX-License-Identifier: MIT */
#ifndef QB_BASE_POOL_H
#define QB_BASE_POOL_H

#include <stddef.h>

#include "quickbeam/status.h"

/* The one place where computing threads live. Work comes in batches of independent tasks; a batch of
 * higher priority goes first, so that a pipeline drains from its end. */
typedef struct qb__pool qb__pool;

typedef struct qb__batch {
    void (*run)(void *context, size_t task, int worker); /* worker: 0..threads-1 */
    void (*done)(void *context);                         /* by the last worker to finish; may be NULL */
    void *context;
    size_t count;
    int priority;
    /* the pool's own */
    size_t next, finished;
    struct qb__batch *link;
} qb__batch;

qb_status qb__pool_create(int threads, qb__pool **pool); /* 0 = one per CPU of this process */
void qb__pool_destroy(qb__pool *pool);                   /* waits for what is running; NULL-safe */
int qb__pool_threads(const qb__pool *pool);
/* `batch` belongs to the caller and stays untouched until its done() has been called. */
void qb__pool_submit(qb__pool *pool, qb__batch *batch);
/* Run count tasks and come back when all are done. Not from inside a task. */
void qb__pool_for(qb__pool *pool, size_t count, void (*run)(void *context, size_t task, int worker), void *context);
/* Processor time of all tasks so far that were run by qb__pool_for: what stages of a pipeline that block have others do. */
double qb__pool_for_seconds(const qb__pool *pool);

#endif
