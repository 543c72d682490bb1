/* SPDX-License-Identifier: MIT */
#ifndef QB_JOB_OBSERVER_H
#define QB_JOB_OBSERVER_H

#include <stdbool.h>

#include "base/comm.h"
#include "base/json.h"
#include "geometry/chunks.h"
#include "io/publish/publication.h"
#include "quickbeam/io.h"

/* Who looks at a job's images on their way out; a row in observer.c. None changes them. Functions may
 * be NULL, but for wanted. */
typedef struct qb__observer {
    bool (*wanted)(const qb_output_options *options);
    /* Bytes of host memory at most, from open to close, of a stack of this shape. */
    size_t (*bytes)(const size_t shape[3]);
    /* *own is what the others get. The options and the stack stay until close. */
    qb_status (*open)(const qb_output_options *options, const qb_stack *stack, void **own);
    /* Image `number` as float32 in the output's units [shape[1]][shape[2]]: each once, from any
     * thread, several at a time. */
    void (*image)(void *own, size_t number, const float *image);
    /* Images first .. end - 1 as they are written, before they are: from one thread at a time. What it
     * returns but QB_OK ends the job. */
    qb_status (*slab)(void *own, size_t first, size_t end, const void *data);
    /* Collect what the ranks have seen on rank 0, which publishes, by qb__comm_collect with this status. Each rank has seen its own
     * `count` images from `first` on. NULL: nothing to collect. */
    qb_status (*gather)(void *own, qb__comm *comm, const qb__chunks *chunks, qb_status status);
    /* All is written: what it leaves is of the output's set, what it tells goes into the report. */
    qb_status (*publish)(void *own, qb__publication *set, cJSON *report);
    void (*close)(void *own); /* NULL-safe */
} qb__observer;

extern const qb__observer qb__observe_preview, qb__observe_slabs;

enum { QB__OBSERVERS_MAX = 4 };

/* The observers of one job; zeroed, or as open left them. */
typedef struct qb__observers {
    void *own[QB__OBSERVERS_MAX]; /* state of each observer; NULL = not active */
} qb__observers;

/* Whether anybody wants to look: then images have to pass the host. */
bool qb__observed(const qb_output_options *options);
size_t qb__observers_bytes(const qb_output_options *options, const size_t shape[3]);
/* On failure, too, to be closed. */
qb_status qb__observers_open(qb__observers *all, const qb_output_options *options, const qb_stack *stack);
void qb__observers_image(const qb__observers *all, size_t number, const float *image);
qb_status qb__observers_slab(const qb__observers *all, size_t first, size_t end, const void *data);
qb_status qb__observers_gather(const qb__observers *all, qb__comm *comm, const qb__chunks *own, qb_status status);
qb_status qb__observers_publish(const qb__observers *all, qb__publication *set, cJSON *report);
void qb__observers_close(qb__observers *all);

#endif
