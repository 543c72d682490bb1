/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { QB__STAGES_MAX = 8 }; /* stages of a pipeline, at most */

/* State of a stage of a pipeline (pipeline.h): its position and its speed. */
typedef struct qb__progress_rate {
    bool blocking;
    size_t chunks, gather, slots;
    size_t finished; /* finished chunks */
    double part;     /* finished part of the current chunk, 0..1 */
    double seconds;  /* seconds per chunk; for a stage on the pool, seconds of one thread */
    size_t first;    /* if not 0: `seconds` holds only for the first `first` chunks */
    double later;    /* factor for the chunks after the first ones */
    bool in_place;
    size_t scatter;
} qb__progress_rate;

/* Number of first chunks that would take the same time as these chunks. */
double qb__progress_rate_worth(size_t first, double later, double chunks);
/* Seconds until all stages are done. Simulates the pipeline chunk by chunk; computing stages share the threads, later
 * stages first. */
double qb__progress_rate_left(const qb__progress_rate *stages, int count, int threads);
