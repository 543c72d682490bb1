/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE 1 /* sched_getaffinity */
#include "base/share.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/status.h"

/* The C library keeps stacks of ended threads up to 40 MB in all. With the usual 8 MB each, most stacks would be mapped
 * anew for each thread, which takes as long as starting it. */
enum { HELPERS_MOST = QB__SHARE_THREADS_MOST - 1, STACK_BYTES = 1 << 20, IDLE_NANOSECONDS = 200000000 };

/* A call of qb__share. The fields after `next` are protected by the crew's lock. */
typedef struct shared {
    qb_status (*run)(void *context, size_t piece, size_t worker);
    void *context;
    size_t count;
    _Atomic size_t next;
    size_t wanted, workers, inside; /* helpers that may still come; threads that came; helpers that have not left */
    double seconds;                 /* processor time of the helpers */
    qb_status status;
    char detail[1024];
    pthread_cond_t left;
    struct shared *link;
} shared;

/* Helper threads, which wait for further calls: starting 15 threads takes longer than many a read. */
static struct crew {
    pthread_mutex_t lock;
    pthread_cond_t work;
    shared *calls;       /* calls that want helpers */
    size_t idle, wanted; /* helpers that wait or are starting; helpers that all calls want */
} crew = {.lock = PTHREAD_MUTEX_INITIALIZER};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Thread_local double helped;

/* ---- the crew ---- */

static void before_fork(void) { pthread_mutex_lock(&crew.lock); }

static void in_parent(void) { pthread_mutex_unlock(&crew.lock); }

static void make_condition(void) {
    pthread_condattr_t steady;
    pthread_condattr_init(&steady);
    pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
    pthread_cond_init(&crew.work, &steady);
    pthread_condattr_destroy(&steady);
}

/* The helpers do not exist in a child. */
static void in_child(void) {
    crew.calls = NULL;
    crew.idle = crew.wanted = 0;
    make_condition();
    pthread_mutex_unlock(&crew.lock);
}

static void prepare(void) {
    make_condition();
    pthread_atfork(before_fork, in_parent, in_child);
}

/* The call that a helper joins, after waiting for one; NULL if none came. The lock must be held. */
static shared *join(void) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += IDLE_NANOSECONDS;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    bool late = false;
    while (!crew.calls && !late) late = pthread_cond_timedwait(&crew.work, &crew.lock, &until) != 0;
    shared *all = crew.calls;
    if (all) {
        crew.wanted--;
        all->inside++;
        if (--all->wanted == 0) crew.calls = all->link;
    }
    return all;
}

/* Helpers that have not come are not needed any more. The lock must be held. */
static void withdraw(shared *all) {
    shared **at = &crew.calls;
    while (*at && *at != all) at = &(*at)->link;
    if (*at) *at = all->link;
    crew.wanted -= all->wanted;
    all->wanted = 0;
}

/* ---- the pieces ---- */

static void note(shared *all, qb_status status) {
    atomic_store(&all->next, all->count);
    pthread_mutex_lock(&crew.lock);
    if (all->status == QB_OK) {
        all->status = status;
        snprintf(all->detail, sizeof all->detail, "%s", qb_detail());
    }
    pthread_mutex_unlock(&crew.lock);
}

static void work(shared *all, size_t worker) {
    for (size_t piece; (piece = atomic_fetch_add(&all->next, 1)) < all->count;) {
        qb_status status = all->run(all->context, piece, worker);
        if (status != QB_OK) note(all, status);
    }
}

static void *help(void *argument) {
    (void)argument;
    pthread_mutex_lock(&crew.lock);
    for (shared *all; (all = join()) != NULL; crew.idle++) {
        crew.idle--;
        const size_t worker = all->workers++;
        pthread_mutex_unlock(&crew.lock);
        const double from = qb__now_thread() + helped;
        work(all, worker);
        const double seconds = qb__now_thread() + helped - from;
        pthread_mutex_lock(&crew.lock);
        all->seconds += seconds;
        if (--all->inside == 0) pthread_cond_signal(&all->left);
    }
    crew.idle--;
    pthread_mutex_unlock(&crew.lock);
    return NULL;
}

/* Wakes the helpers that wait, and starts those that are missing. */
static void call_helpers(shared *all, size_t wanted) {
    pthread_attr_t small;
    pthread_t helper;
    pthread_mutex_lock(&crew.lock);
    all->wanted = wanted;
    all->link = crew.calls;
    crew.calls = all;
    crew.wanted += wanted;
    const size_t missing = crew.wanted > crew.idle ? qb__smaller(wanted, crew.wanted - crew.idle) : 0;
    crew.idle += missing;
    pthread_mutex_unlock(&crew.lock);
    for (size_t i = 0; i < wanted - missing; i++) pthread_cond_signal(&crew.work);
    if (!missing) return;
    size_t started = 0;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, STACK_BYTES);
    pthread_attr_setdetachstate(&small, PTHREAD_CREATE_DETACHED);
    while (started < missing && pthread_create(&helper, &small, help, NULL) == 0) started++;
    pthread_attr_destroy(&small);
    if (started == missing) return;
    pthread_mutex_lock(&crew.lock);
    crew.idle -= missing - started;
    pthread_mutex_unlock(&crew.lock);
}

static qb_status alone(size_t count, qb_status (*run)(void *, size_t, size_t), void *context) {
    qb_status status = QB_OK;
    for (size_t i = 0; status == QB_OK && i < count; i++) status = run(context, i, 0);
    return status;
}

qb_status qb__share(size_t threads, size_t count, qb_status (*run)(void *context, size_t piece, size_t worker),
                    void *context) {
    const size_t wanted = qb__smaller(threads, count);
    if (wanted < 2) return alone(count, run, context);
    shared all = {.run = run, .context = context, .count = count, .workers = 1};
    pthread_once(&once, prepare);
    pthread_cond_init(&all.left, NULL);
    call_helpers(&all, qb__smaller(wanted - 1, HELPERS_MOST));
    work(&all, 0);
    pthread_mutex_lock(&crew.lock);
    withdraw(&all);
    while (all.inside) pthread_cond_wait(&all.left, &crew.lock);
    pthread_mutex_unlock(&crew.lock);
    pthread_cond_destroy(&all.left);
    helped += all.seconds;
    return all.status == QB_OK ? QB_OK : qb__fail(all.status, "%s", all.detail);
}

size_t qb__share_threads(void) {
    cpu_set_t set;
    size_t cpus = sched_getaffinity(0, sizeof set, &set) == 0 ? (size_t)CPU_COUNT(&set) : 1;
    return qb__smaller(cpus, QB__SHARE_MOST);
}

double qb__share_seconds(void) { return helped; }
