/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/comm.h"
#include "base/json.h"
#include "geometry/runs.h"
#include "io/publish/publication.h"
#include "quickbeam/io.h"

/* Observers read a job's images before they are written; each is a row in observer.c. They never change images. All
 * functions except `wanted` may be NULL. */
typedef struct qb__observer {
    bool (*wanted)(const qb_output_options *options);
    /* Upper limit of the host memory from open to close, for a stack of this shape. */
    size_t (*bytes)(const size_t shape[3]);
    /* *own is passed to the other functions. Options and stack stay valid until close. */
    qb_status (*open)(const qb_output_options *options, const qb_stack *stack, void **own);
    /* Gets image `number` as float32 [shape[1]][shape[2]] in the output's units: each image once, from any thread,
     * several at a time. */
    void (*image)(void *own, size_t number, const float *image);
    /* Gets images first .. end - 1 in their final form, before they are written, from one thread at a time. Another
     * status than QB_OK ends the job. */
    qb_status (*slab)(void *own, size_t first, size_t end, const void *data);
    /* Collect the data of all ranks on rank 0, which publishes it, with qb__comm_collect and this status. Each rank has
     * `count` images from `first` on. NULL: nothing to collect. */
    qb_status (*gather)(void *own, qb__comm *comm, const qb__chunks *chunks, qb_status status);
    /* All images are written: add files to the output's set and results to the report. */
    qb_status (*publish)(void *own, qb__publication *set, cJSON *report);
    void (*close)(void *own); /* NULL-safe */
} qb__observer;

extern const qb__observer qb__observe_preview, qb__observe_slabs;

enum { QB__OBSERVERS_MAX = 4 };

/* The observers of one job; zeroed, or as left by open. */
typedef struct qb__observers {
    void *own[QB__OBSERVERS_MAX]; /* state of each observer; NULL = not active */
} qb__observers;

/* True if an observer is active: then images must pass through host memory. */
bool qb__observed(const qb_output_options *options);
size_t qb__observers_bytes(const qb_output_options *options, const size_t shape[3]);
/* Also after a failure the observers must be closed. */
qb_status qb__observers_open(qb__observers *all, const qb_output_options *options, const qb_stack *stack);
void qb__observers_image(const qb__observers *all, size_t number, const float *image);
qb_status qb__observers_slab(const qb__observers *all, size_t first, size_t end, const void *data);
qb_status qb__observers_gather(const qb__observers *all, qb__comm *comm, const qb__chunks *own, qb_status status);
qb_status qb__observers_publish(const qb__observers *all, qb__publication *set, cJSON *report);
void qb__observers_close(qb__observers *all);

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
