/* SPDX-License-Identifier: MIT */
#include "base/log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/comm.h"
#include "base/status.h"

/* A running callback. Callbacks of one environment wait for each other, also if the library uses a partly silent copy
 * of the environment; different environments do not. The struct lies on the stack of the calling thread. */
typedef struct talk {
    const qb_env *env;
    pthread_t thread;
    struct talk *next;
} talk;

static struct {
    pthread_mutex_t lock; /* protects the list only; not held while a callback runs */
    pthread_cond_t ended;
    talk *first;
} talks = {.lock = PTHREAD_MUTEX_INITIALIZER, .ended = PTHREAD_COND_INITIALIZER};

static _Thread_local int within; /* number of callbacks that this thread is in */

static bool same(const qb_env *a, const qb_env *b) {
    return a->user == b->user && (a->log == b->log || a->progress == b->progress);
}

/* Calls from inside a callback may report to the same environment in the same thread. */
static bool must_wait(const qb_env *env) {
    for (const talk *t = talks.first; t; t = t->next)
        if (same(t->env, env) && !pthread_equal(t->thread, pthread_self())) return true;
    return false;
}

static void begin(talk *one, const qb_env *env) {
    pthread_mutex_lock(&talks.lock);
    while (must_wait(env)) pthread_cond_wait(&talks.ended, &talks.lock);
    *one = (talk){env, pthread_self(), talks.first};
    talks.first = one;
    pthread_mutex_unlock(&talks.lock);
    within++;
}

static void end(talk *one) {
    within--;
    pthread_mutex_lock(&talks.lock);
    talk **at = &talks.first;
    while (*at != one) at = &(*at)->next;
    *at = one->next;
    pthread_cond_broadcast(&talks.ended);
    pthread_mutex_unlock(&talks.lock);
}

void qb__log(const qb_env *env, qb_log_level level, const char *format, ...) {
    if (!env || !env->log) return;
    char text[1024];
    talk one;
    va_list args;
    va_start(args, format);
    qb__say(text, sizeof text, format, args);
    va_end(args);
    begin(&one, env);
    env->log(env->user, level, text);
    end(&one);
}

void qb__progress(const qb_env *env, const char *what, uint64_t done, uint64_t total) {
    if (!env || !env->progress) return;
    talk one;
    begin(&one, env);
    env->progress(env->user, what, done, total);
    end(&one);
}

qb_status qb__check_callback(void) {
    if (!within) return QB_OK;
    return qb__fail(QB_BAD_ARGUMENT,
                    "a call that computes with several threads, from within a log or progress callback: their words "
                    "would wait for the callback's end; note what is to be done, return, and do it then");
}

/* Another thread may be setting the flag. */
static bool stopped(const qb_env *env) { return env && env->cancel && __atomic_load_n(env->cancel, __ATOMIC_RELAXED); }

bool qb__cancelled(const qb_env *env) { return stopped(env) || qb__comm_warned(qb__comm_of(env)); }

qb_status qb__check_cancel(const qb_env *env) {
    if (stopped(env)) return qb__fail(QB_CANCELLED, "interrupted before the end");
    return qb__cancelled(env) ? qb__fail(QB_CANCELLED, "another rank has failed") : QB_OK;
}
