/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE 1 /* sched_getaffinity */
#include "base/share.h"

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/status.h"

/* The C library keeps stacks of ended threads up to 40 MB in all. With the usual 8 MB each, most stacks would be mapped
 * anew in each call, which takes as long as starting the threads. */
enum { HELPERS_MOST = QB__SHARE_THREADS_MOST - 1, STACK_BYTES = 1 << 20 };

typedef struct shared {
    pthread_mutex_t lock;
    qb_status (*run)(void *context, size_t piece, size_t worker);
    void *context;
    size_t count, next, workers;
    double seconds; /* processor time of the helpers */
    qb_status status;
    char detail[1024];
} shared;

static _Thread_local double helped;

/* The next piece; false if there is none, or something has failed. */
static bool take(shared *all, size_t *piece) {
    pthread_mutex_lock(&all->lock);
    bool more = all->next < all->count && all->status == QB_OK;
    if (more) *piece = all->next++;
    pthread_mutex_unlock(&all->lock);
    return more;
}

static void note(shared *all, qb_status status) {
    pthread_mutex_lock(&all->lock);
    if (all->status == QB_OK) {
        all->status = status;
        snprintf(all->detail, sizeof all->detail, "%s", qb_detail());
    }
    pthread_mutex_unlock(&all->lock);
}

static void work(shared *all, size_t worker) {
    for (size_t piece; take(all, &piece);) {
        qb_status status = all->run(all->context, piece, worker);
        if (status != QB_OK) note(all, status);
    }
}

static void *help(void *argument) {
    shared *all = argument;
    pthread_mutex_lock(&all->lock);
    const size_t worker = all->workers++;
    pthread_mutex_unlock(&all->lock);
    work(all, worker);
    const double seconds = qb__now_thread();
    pthread_mutex_lock(&all->lock);
    all->seconds += seconds;
    pthread_mutex_unlock(&all->lock);
    return NULL;
}

static qb_status alone(size_t count, qb_status (*run)(void *, size_t, size_t), void *context) {
    qb_status status = QB_OK;
    for (size_t i = 0; status == QB_OK && i < count; i++) status = run(context, i, 0);
    return status;
}

qb_status qb__share(size_t threads, size_t count, qb_status (*run)(void *context, size_t piece, size_t worker),
                    void *context) {
    pthread_t helper[HELPERS_MOST];
    size_t wanted = qb__smaller(threads, count), started = 0;
    if (wanted < 2) return alone(count, run, context);
    wanted = qb__smaller(wanted - 1, HELPERS_MOST);
    shared all = {.run = run, .context = context, .count = count, .workers = 1};
    pthread_mutex_init(&all.lock, NULL);
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, STACK_BYTES);
    while (started < wanted && pthread_create(&helper[started], &small, help, &all) == 0) started++;
    work(&all, 0);
    for (size_t i = 0; i < started; i++) pthread_join(helper[i], NULL);
    pthread_attr_destroy(&small);
    pthread_mutex_destroy(&all.lock);
    helped += all.seconds;
    return all.status == QB_OK ? QB_OK : qb__fail(all.status, "%s", all.detail);
}

size_t qb__share_threads(void) {
    cpu_set_t set;
    size_t cpus = sched_getaffinity(0, sizeof set, &set) == 0 ? (size_t)CPU_COUNT(&set) : 1;
    return qb__smaller(cpus, QB__SHARE_MOST);
}

double qb__share_seconds(void) { return helped; }
