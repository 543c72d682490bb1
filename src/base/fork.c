/* SPDX-License-Identifier: MIT */
#include "base/fork.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/status.h"

static atomic_int calls;      /* calls of all threads that are running */
static _Thread_local int own; /* calls of this thread */
static atomic_uint forks;
static atomic_bool torn; /* this process was forked while other threads were in a call */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void in_child(void) {
    if (atomic_load(&calls) > own) atomic_store(&torn, true);
    atomic_store(&calls, own);
    atomic_fetch_add(&forks, 1);
}

static void listen_to_forks(void) { pthread_atfork(NULL, NULL, in_child); }

int qb__call_begin(void) {
    pthread_once(&once, listen_to_forks);
    if (atomic_load(&torn)) return -1;
    own++;
    atomic_fetch_add(&calls, 1);
    return 0;
}

void qb__call_end(int *call) {
    if (*call < 0) return;
    atomic_fetch_sub(&calls, 1);
    own--;
}

qb_status qb__call_refused(void) {
    return qb__fail(
        QB_UNSUPPORTED,
        "this process was made by fork() while another thread worked in quickbeam, whose locks stay locked here: "
        "call exec() after fork(), or fork before the work begins");
}

unsigned qb__forks(void) { return atomic_load(&forks); }
