/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE 1 /* sched_getaffinity */
#include "base/pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/comm.h"
#include "base/fork.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/status.h"

struct qb__pool {
    pthread_mutex_t lock;
    pthread_cond_t work;
    qb__batch *queue; /* sorted by priority; equal priorities in the order of arrival */
    bool closing;
    _Atomic uint64_t nanoseconds; /* processor time of qb__pool_for */
    int threads, started;
    unsigned forks; /* number of forks when the pool was created: its threads do not exist in a child */
    struct worker {
        qb__pool *pool;
        pthread_t thread;
        int index;
    } * worker;
};

static void *work(void *argument) {
    struct worker *self = argument;
    qb__pool *pool = self->pool;
    pthread_mutex_lock(&pool->lock);
    for (;;) {
        while (!pool->queue && !pool->closing) pthread_cond_wait(&pool->work, &pool->lock);
        qb__batch *batch = pool->queue;
        if (!batch) break;
        size_t task = batch->next++;
        if (batch->next == batch->count) pool->queue = batch->link;
        pthread_mutex_unlock(&pool->lock);
        batch->run(batch->context, task, self->index);
        pthread_mutex_lock(&pool->lock);
        if (++batch->finished == batch->count && batch->done) {
            pthread_mutex_unlock(&pool->lock);
            batch->done(batch->context);
            pthread_mutex_lock(&pool->lock);
        }
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

static int cpus(void) {
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

qb_status qb__pool_create(int threads, qb__pool **out) {
    *out = NULL;
    qb__pool *pool;
    qb_status status = qb__check_callback();
    if (status == QB_OK && threads > QB__THREADS_MOST)
        status = qb__fail(QB_BAD_ARGUMENT, "%d threads: at most %d, or 0 for one per CPU", threads, QB__THREADS_MOST);
    if (status == QB_OK) status = qb__alloc(1, sizeof *pool, &pool);
    if (status != QB_OK) return status;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->work, NULL);
    pool->threads = threads > 0 ? threads : cpus();
    pool->forks = qb__forks();
    QB__TRY(qb__alloc((size_t)pool->threads, sizeof *pool->worker, &pool->worker));
    for (int i = 0; i < pool->threads; i++) {
        pool->worker[i] = (struct worker){.pool = pool, .index = i};
        int error = pthread_create(&pool->worker[i].thread, NULL, work, &pool->worker[i]);
        if (error) QB__TRY(qb__fail_errno(error, "starting", "a computing thread"));
        pool->started++;
    }
out:
    if (status != QB_OK) {
        qb__pool_destroy(pool);
        return status;
    }
    *out = pool;
    return QB_OK;
}

void qb__pool_destroy(qb__pool *pool) {
    if (!pool) return;
    const bool ours =
        /* otherwise its threads belong to the process before fork(), and cannot be joined here */
        pool->forks == qb__forks();
    if (ours) {
        pthread_mutex_lock(&pool->lock);
        pool->closing = true;
        pthread_cond_broadcast(&pool->work);
        pthread_mutex_unlock(&pool->lock);
    }
    for (int i = 0; ours && i < pool->started; i++) pthread_join(pool->worker[i].thread, NULL);
    if (ours) pthread_cond_destroy(&pool->work);
    if (ours) pthread_mutex_destroy(&pool->lock);
    QB__FREE(pool->worker, pool);
}

int qb__pool_threads(const qb__pool *pool) { return pool->threads; }

void qb__pool_submit(qb__pool *pool, qb__batch *batch) {
    batch->next = batch->finished = 0;
    if (batch->count == 0) {
        if (batch->done) batch->done(batch->context);
        return;
    }
    pthread_mutex_lock(&pool->lock);
    qb__batch **at = &pool->queue;
    while (*at && (*at)->priority >= batch->priority) at = &(*at)->link;
    batch->link = *at;
    *at = batch;
    for (int i = 0; i < pool->started && (size_t)i < batch->count; i++) pthread_cond_signal(&pool->work);
    pthread_mutex_unlock(&pool->lock);
}

struct waiter {
    void (*run)(void *context, size_t task, int worker);
    void *context;
    qb__pool *pool;
    pthread_mutex_t lock;
    pthread_cond_t ready;
    bool done;
};

static void wait_run(void *context, size_t task, int worker) {
    struct waiter *waiter = context;
    const double from = qb__now_thread();
    waiter->run(waiter->context, task, worker);
    const uint64_t used = (uint64_t)(1e9 * (qb__now_thread() - from));
    atomic_fetch_add_explicit(&waiter->pool->nanoseconds, used, memory_order_relaxed);
}

static void wait_done(void *context) {
    struct waiter *waiter = context;
    pthread_mutex_lock(&waiter->lock);
    waiter->done = true;
    pthread_cond_signal(&waiter->ready);
    pthread_mutex_unlock(&waiter->lock);
}

void qb__pool_for(qb__pool *pool, size_t count, void (*run)(void *context, size_t task, int worker), void *context) {
    struct waiter waiter = {.run = run, .context = context, .pool = pool};
    pthread_mutex_init(&waiter.lock, NULL);
    pthread_cond_init(&waiter.ready, NULL);
    qb__batch batch = {.run = wait_run, .done = wait_done, .context = &waiter, .count = count};
    qb__pool_submit(pool, &batch);
    pthread_mutex_lock(&waiter.lock);
    while (!waiter.done) pthread_cond_wait(&waiter.ready, &waiter.lock);
    pthread_mutex_unlock(&waiter.lock);
    pthread_cond_destroy(&waiter.ready);
    pthread_mutex_destroy(&waiter.lock);
}

double qb__pool_for_seconds(const qb__pool *pool) { return 1e-9 * (double)atomic_load(&pool->nanoseconds); }
