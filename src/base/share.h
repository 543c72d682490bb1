/* SPDX-License-Identifier: MIT */
#ifndef QB_BASE_SHARE_H
#define QB_BASE_SHARE_H

#include <stddef.h>

#include "quickbeam/status.h"

/* Reading and writing on several threads that live for one call: the blocking stages of a pipeline wait
 * for storage, which takes several requests at once, and must not hold up the pool that computes. */

/* Run pieces 0..count-1, each once, on at most `threads` threads, the caller's among them, and come back
 * when all have ended. `worker` is below the smaller of threads and count. After a failure no further
 * piece begins; the first one's status and detail come back in the caller's thread. A thread that cannot be
 * started is one fewer. */
qb_status qb__share(size_t threads, size_t count, qb_status (*run)(void *context, size_t piece, size_t worker),
                    void *context);

/* As many as pay where nothing was measured: one per CPU of this process, QB__SHARE_MOST at most. */
size_t qb__share_threads(void);
enum { QB__SHARE_MOST = 16, QB__SHARE_THREADS_MOST = 64 /* that qb__share ever runs on */ };

/* Processor time of threads that have helped the calling thread so far, seconds. */
double qb__share_seconds(void);

#endif
