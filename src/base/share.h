/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>

#include "quickbeam/status.h"

/* Threads for reading and writing that wait for the next call. The blocking stages of a pipeline wait for storage, which
 * serves several requests at once, and must not occupy the threads that compute. */

/* Run pieces 0..count-1, each once, on at most `threads` threads including the caller's, and return when all have
 * ended. `worker` is below min(threads, count). After a failure no further piece begins; the status and detail of the
 * first failure are returned in the caller's thread. If a thread cannot be started, fewer are used. */
qb_status qb__share(size_t threads, size_t count, qb_status (*run)(void *context, size_t piece, size_t worker),
                    void *context);

/* Number of threads if nothing was measured: one per CPU of this process, QB__SHARE_MOST at most. */
size_t qb__share_threads(void);
enum { QB__SHARE_MOST = 16, QB__SHARE_THREADS_MOST = 64 /* upper limit of the threads of qb__share */ };

/* Processor time in seconds of threads that have helped the calling thread so far. */
double qb__share_seconds(void);
