/* SPDX-License-Identifier: MIT */
#include "prep/rings_queue.h"

#include <pthread.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/status.h"

enum { BLOCKS = 2 /* buffers of the device */ };

typedef struct block {
    size_t first, rows, taken, done; /* first: counted from the first row of all */
    const float *lines, *change;
} block;

typedef struct queue {
    const qb__rings_queue *work;
    pthread_mutex_t lock;
    pthread_cond_t change;
    block block[BLOCKS];
    size_t made, current; /* number of blocks that came, and the one whose rows are taken */
    int most;             /* number of threads that may work */
    bool ended, idle;     /* no more blocks will come; no thread works */
} queue;

/* The next row; NULL if there is none. */
static block *take(queue *q, int worker, size_t *row) {
    block *of = NULL;
    pthread_mutex_lock(&q->lock);
    for (;;) {
        while (q->current < q->made && q->block[q->current % BLOCKS].taken == q->block[q->current % BLOCKS].rows)
            q->current++;
        if (q->ended || (q->current < q->made && worker < q->most)) break;
        pthread_cond_wait(&q->change, &q->lock);
    }
    if (q->current < q->made) {
        of = &q->block[q->current % BLOCKS];
        *row = of->taken++;
    }
    pthread_mutex_unlock(&q->lock);
    return of;
}

static void work(void *context, size_t task, int worker) {
    queue *q = context;
    const qb__rings_queue *w = q->work;
    size_t row;
    (void)task;
    for (block *b; (b = take(q, worker, &row)) != NULL;) {
        w->find(w->context, b->first + row, b->lines + row * w->columns, b->rows * w->columns,
                b->change + row * w->columns, worker);
        pthread_mutex_lock(&q->lock);
        if (++b->done == b->rows) pthread_cond_broadcast(&q->change);
        pthread_mutex_unlock(&q->lock);
    }
}

static void all_done(void *context) {
    queue *q = context;
    pthread_mutex_lock(&q->lock);
    q->idle = true;
    pthread_cond_broadcast(&q->change);
    pthread_mutex_unlock(&q->lock);
}

/* The buffer of the next block, after its rows have been used. */
static block *free_block(queue *q) {
    block *b = &q->block[q->made % BLOCKS];
    pthread_mutex_lock(&q->lock);
    while (b->done < b->rows) pthread_cond_wait(&q->change, &q->lock);
    pthread_mutex_unlock(&q->lock);
    return b;
}

/* While other rows are still being read, half of the threads stay free for reading. Otherwise finding stripes would
 * have to wait for these rows later. */
static qb_status feed(queue *q, size_t row, size_t end, int threads, const qb_env *env) {
    const qb__rings_queue *w = q->work;
    const size_t first = row;
    qb_status status = QB_OK;
    for (; row < end; row += w->rows) {
        QB__TRY(qb__check_cancel(env));
        qb__progress(env, "finding rings", row - first, end - first);
        block *to = free_block(q), next = {.first = row - first, .rows = qb__smaller(w->rows, end - row)};
        const int turn = (int)(q->made % BLOCKS);
        QB__TRY(qb__rings_device_begin(w->device, turn, row, next.rows));
        QB__TRY(qb__rings_device_end(w->device, turn, &next.lines, &next.change));
        pthread_mutex_lock(&q->lock);
        *to = next;
        q->made++;
        q->most = qb__rings_device_fills(w->device) ? (threads + 1) / 2 : threads;
        pthread_cond_broadcast(&q->change);
        pthread_mutex_unlock(&q->lock);
    }
out:
    return status;
}

qb_status qb__rings_run(const qb__rings_queue *of, size_t row, size_t end, qb__pool *pool, const qb_env *env) {
    queue q = {.work = of, .lock = PTHREAD_MUTEX_INITIALIZER, .change = PTHREAD_COND_INITIALIZER};
    qb__batch batch = {.run = work, .done = all_done, .context = &q, .count = (size_t)qb__pool_threads(pool)};
    qb__pool_submit(pool, &batch);
    const qb_status status = feed(&q, row, end, qb__pool_threads(pool), env);
    pthread_mutex_lock(&q.lock);
    q.ended = true;
    pthread_cond_broadcast(&q.change);
    while (!q.idle) pthread_cond_wait(&q.change, &q.lock);
    pthread_mutex_unlock(&q.lock);
    pthread_mutex_destroy(&q.lock);
    pthread_cond_destroy(&q.change);
    return status;
}
