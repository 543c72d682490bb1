/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/pool.h"
#include "job/observer.h"
#include "quickbeam/env.h"

/* Allocator of the slots of a ring. A slot is what a stage and the next one agree on: host memory, page-locked memory,
 * or a handle of device memory. */
typedef struct qb__slot_maker {
    void *self;
    qb_status (*create)(void *self, size_t bytes, void **slot); /* NULL: zeroed host memory */
    void (*destroy)(void *self, void *slot);                    /* NULL-safe */
} qb__slot_maker;

/* The stages of a reconstruction. Chunk by chunk, each stage passes its output to the next in a ring of `slots`
 * buffers. A stage works on one chunk at a time; all stages work in parallel. Computing stages share the pool, later
 * stages first; blocking stages (reading, writing, devices) have their own thread. Chunks pass every stage in order. */
typedef struct qb__stage {
    const char *name;
    void *self; /* owner of the stage, the first argument of its calls */
    bool blocking;
    size_t slots; /* buffers in its output ring; 0 for the last stage */
    /* the stage changes its input in the slot of the previous stage: it has no ring and no gather. Not for the first
     * and the last stage */
    bool in_place;
    /* chunks that are combined into one output, which is one chunk of the next stage; all of them get the same `out`,
     * in order. 0 = 1 */
    size_t gather;
    /* outputs into which one chunk of the previous stage is split, one after the other; they are the chunks of this and
     * the later stages. All get the same `in`, which is free after the last. 0 = 1; not for the first stage, nor with
     * gather or in_place */
    size_t scatter;
    size_t slot_bytes; /* bytes of host memory in a slot */
    size_t last_bytes; /* bytes of a slot that the last chunk uses, if fewer; 0 = all */
    qb__slot_maker maker;
    /* Number of independent tasks of a chunk; NULL = 1. */
    size_t (*tasks)(void *self, size_t chunk);
    /* in: slot of the previous stage with this chunk (NULL for the first stage); out: slot of this stage. */
    qb_status (*run)(void *self, size_t chunk, size_t task, int worker, const void *in, void *out);
    /* Called when the thread of a blocking stage has done its last chunk, or stops: `status` is the reason, with its
     * detail. A status other than QB_OK fails the pipeline. NULL = not needed. */
    qb_status (*barrier)(void *self, qb_status status);
    double all_seconds; /* forecast of all chunks, used by the plan only if `forecast` is 0; 0 = unknown */
    double forecast;    /* forecast seconds of a chunk in one thread; 0 = unknown */
    size_t first;       /* number of chunks that take the forecast time; 0: all */
    double later;       /* time of a chunk after the first ones, relative to the forecast */
    /* input bytes that the first stage reads in all chunks, repeated bytes counted again; 0 = all bytes once */
    double reads;
    /* Processor time so far of helper threads that run() uses; NULL = no helpers. */
    double (*cpu_seconds)(void *self);
} qb__stage;

typedef struct qb__stage_time {
    const char *name;
    double cpu_seconds;  /* processor time of all its threads */
    double busy_seconds; /* wall time during which it had a chunk in work */
} qb__stage_time;

typedef struct qb__pipeline_report {
    double wall_seconds;
    int stages;
    qb__stage_time stage[QB__STAGES_MAX];
} qb__pipeline_report;

/* Bytes of all rings if `chunks` chunks pass the first stage. */
size_t qb__pipeline_bytes(const qb__stage *stages, int count, size_t chunks);

typedef struct qb__pipeline qb__pipeline;

/* Create the pipeline with all slots: QB_NO_MEMORY if they do not fit. `chunks` is the number of chunks of the first
 * stage, divided by every `gather` and multiplied by every `scatter` for later stages. The stages are copied; objects
 * that they refer to must stay. */
qb_status qb__pipeline_create(const qb__stage *stages, int count, size_t chunks, qb__pipeline **line);
/* Name of the work in progress messages; the last stage's name unless it is set. The text must stay. Progress counts
 * thousandths of the total time, estimated from the finished part: at the beginning, after every chunk of the last
 * stage, and a few times per second. */
void qb__pipeline_call(qb__pipeline *line, const char *name);
/* Make only these `count` of `all` outputs, in that order. Each output has the same number of chunks in every stage;
 * calls get the chunk numbers among all outputs. Call it before running; the list must stay. */
void qb__pipeline_only(qb__pipeline *line, size_t all, const size_t *outputs, size_t count);
/* Run once: to the end, to the first failure (its status and detail are returned), or to cancellation. `pool` may be
 * NULL if all stages block. */
qb_status qb__pipeline_run(qb__pipeline *line, qb__pool *pool, const qb_env *env, qb__pipeline_report *report);
void qb__pipeline_destroy(qb__pipeline *line); /* NULL-safe */
