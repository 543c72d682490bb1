/* SPDX-License-Identifier: MIT */
#ifndef QB_JOB_PROGRESS_RATE_H
#define QB_JOB_PROGRESS_RATE_H

#include <stdbool.h>
#include <stddef.h>

enum { QB__STAGES_MAX = 8 }; /* stages of a pipeline, at most */

/* A stage of a pipeline (pipeline.h) in numbers: where it is, and how fast. */
typedef struct qb__progress_rate {
    bool blocking;
    size_t chunks, gather, slots;
    size_t finished; /* finished chunks */
    double part;     /* finished part of the current chunk, 0..1 */
    double seconds;  /* seconds of a chunk; for a stage on the pool, seconds of one thread */
    size_t first;    /* if not 0: `seconds` holds for this many first chunks */
    double later;    /* factor for the chunks after the first ones */
    bool in_place;
    size_t scatter;
} qb__progress_rate;

/* How many of the first chunks these are worth, in the time that they take. */
double qb__progress_rate_worth(size_t first, double later, double chunks);
/* Seconds until all stages are done: played through, chunk by chunk, as the pipeline would run it, later stages
 * first on the threads that computing ones share. */
double qb__progress_rate_left(const qb__progress_rate *stages, int count, int threads);

#endif
