/* SPDX-License-Identifier: MIT */
#include "base/log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/status.h"

/* The only lock of the library that is not inside an object: it orders callbacks, it guards no data. */
static pthread_mutex_t talking = PTHREAD_MUTEX_INITIALIZER;

void qb__log(const qb_env *env, qb_log_level level, const char *format, ...) {
    if (!env || !env->log) return;
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    pthread_mutex_lock(&talking);
    env->log(env->user, level, text);
    pthread_mutex_unlock(&talking);
}

void qb__progress(const qb_env *env, const char *what, uint64_t done, uint64_t total) {
    if (!env || !env->progress) return;
    pthread_mutex_lock(&talking);
    env->progress(env->user, what, done, total);
    pthread_mutex_unlock(&talking);
}

/* Another thread may be setting it. */
bool qb__cancelled(const qb_env *env) {
    return env && env->cancel && __atomic_load_n(env->cancel, __ATOMIC_RELAXED);
}

qb_status qb__check_cancel(const qb_env *env) {
    return qb__cancelled(env) ? qb__fail(QB_CANCELLED, "interrupted before the end") : QB_OK;
}
