/* SPDX-License-Identifier: MIT */
#include "base/clock.h"

#include <time.h>

static double seconds(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double qb__now(void) { return seconds(CLOCK_MONOTONIC); }

double qb__now_thread(void) { return seconds(CLOCK_THREAD_CPUTIME_ID); }

double qb__now_process(void) { return seconds(CLOCK_PROCESS_CPUTIME_ID); }
