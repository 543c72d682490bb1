/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/json.h"
#include "geometry/partition.h"
#include "job/job.h"
#include "job/pipeline.h"
#include "job/volume_out.h"
#include "planner/device_select.h"
#include "prep/prepare.h"
#include "recon/facts.h"

/* An engine computes chunks, on the CPU or on devices. A method (method.h) decides what is to be done, an engine how,
 * and the frame chooses the engine: of all that offer, the one with the shortest forecast of the whole job. An engine
 * is a row of its method's table and its own files. */

/* The task of a job; methods and engines only read it. */
typedef struct qb__task {
    qb_scan *scan;            /* NULL: the input is not a scan */
    const qb_scan_info *info; /* description of the scan, or NULL */
    const char *input;        /* name of the input in messages */
    const void *more;         /* second input of the method, such as a geometry; NULL: none */
    const qb_prep_options *prep;
    void *options; /* struct of the method's table; its decide() may complete it */
    const qb_output_options *output;
    int threads;
    qb__device_set *devices; /* devices to compute on, at least one, for a device engine; NULL for others */
    /* forecast rates in bytes per second: reading the scan's file, and writing the output */
    double read, write;
    const char *write_from;     /* source of the write rate: "measured" or "listed ..." */
    bool in_memory;             /* both files are in memory: reading and writing share one rate */
    const qb__comm_grid *ranks; /* grid of ranks that share slabs and views; NULL: none */
} qb__task;

/* Data of the frame while a job runs. */
typedef struct qb__running {
    const qb_env *env;
    const qb__prepare *prepare; /* NULL without a scan */
    qb__pool *pool;
    char **scratch;             /* [threads] working memory of each thread, qb__room.scratch bytes */
    qb__prep_counts *counts;    /* [threads] counts of corrected values */
    qb__volume_out *volume;     /* the output, already open; it receives the images */
    const qb__comm_grid *ranks; /* grid of ranks that share slabs and views; NULL = none */
    qb__device *device;         /* the chosen engine's (first) device; NULL: the CPU */
    bool *taken;                /* the engine sets this if it uses the scan's values without reading them */
    cJSON *report;
    qb_job *job; /* collects the hashes of data that are read */
} qb__running;

/* The offer of an engine for a job. */
typedef struct qb__offer {
    void *state; /* state of the engine, the first argument of its calls; NULL: the engine cannot do the job */
    /* the user named its kernel, or asked for something only it can do: no other engine may take the job */
    bool named;
    double start;        /* forecast seconds before the first chunk: start, compiling */
    qb__pool *pool;      /* threads of the engine, which the job uses too; NULL: none */
    bool timed;          /* take the fastest of the cuts that fit, not the first */
    bool converts;       /* its output has the file's type; clamped values are counted */
    bool sums;           /* the engine sums over columns of ranks: its output is this rank's part of each slab */
    qb__cut_space space; /* possible cuts of the job; the frame sets callbacks and cap.host */
    /* an alternative to `space`: slabs of another kind that give the same bits. The frame takes it if it is faster.
     * NULL: none, as always with ranks */
    const qb__cut_space *other;
} qb__offer;

typedef struct qb__engine {
    /* True: it computes on the devices of the task. It is asked only if there are any. If the user named a device, only
     * such engines are asked, and if they decline or fail, the job fails. */
    bool on_device;
    /* True: this engine is asked only if no engine before it has offered. It needs the least memory and more time. */
    bool last;
    /* Decide whether and how this engine does the method's `plan`. `offer` is zeroed; its state is destroyed also after
     * a failure. QB_UNSUPPORTED with the reason: this engine cannot do the job, but others may. */
    qb_status (*decide)(const qb__task *task, void *plan, const qb_env *env, qb__offer *offer);
    /* The chunks of the slabs of a new cut, with the same number for each slab. NULL: each slab is one chunk. */
    void (*slabs)(void *state, qb__cut *cut, size_t *edge, qb__chunks *chunks);
    /* Bytes of a cut besides rings. */
    qb__room (*memory)(void *state, const qb__cut *cut);
    /* Forecast seconds of the whole job, with transfers. NULL: the frame simulates the pipeline with the forecasts of
     * its stages. */
    double (*seconds)(void *state, const qb__cut *cut);
    /* Add the stages between the method's own and the output's; *source gets the allocator of the slots that the first
     * of them reads. Returns their number. */
    int (*stages)(void *state, const qb__cut *cut, qb__slot_maker *source, qb__stage *stages);
    /* Allocate what this cut needs. After QB_NO_MEMORY the frame calls close() and tries a smaller cut. */
    qb_status (*open)(void *state, const qb__cut *cut, const qb__running *run);
    /* Collective step after all ranks of a grid have opened; may be NULL. A failure is the same on all. */
    qb_status (*join)(void *state);
    /* After the last chunk of a successful run: add corrected values to *counts, and facts to the report. May be
     * NULL. */
    qb_status (*finish)(void *state, cJSON *report, qb__prep_counts *counts);
    void (*close)(void *state); /* release what open allocated; may be NULL */
    /* Add the engine's facts about the job with this cut; also with the smallest cut if even that does not fit. */
    void (*facts)(void *state, const qb__cut *cut, qb__job_facts *facts);
    void (*destroy)(void *state);
} qb__engine;

/* Texts for messages: the kind of engine, and the place where memory is missing. */
static inline const char *qb__engine_name(const qb__engine *engine) { return engine->on_device ? "device" : "cpu"; }
static inline const char *qb__engine_place(const qb__engine *engine) {
    return engine->on_device ? "the device" : "this computer";
}
