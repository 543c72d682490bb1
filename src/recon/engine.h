/* SPDX-License-Identifier: MIT */
#ifndef QB_RECON_ENGINE_H
#define QB_RECON_ENGINE_H

#include "base/json.h"
#include "geometry/partition.h"
#include "job/job.h"
#include "job/pipeline.h"
#include "job/volume_out.h"
#include "planner/device_select.h"
#include "prep/prepare.h"
#include "recon/facts.h"

/* Who computes a chunk: the CPU, devices. A method (method.h) decides what is to be done, an
 * engine how, and the frame which engine: of those that offer to do it the one whose forecast of the
 * whole job is the shortest. An engine is a row of its method's table and files of its own. */

/* What is asked of a job; methods and engines only read it. */
typedef struct qb__task {
    qb_scan *scan;            /* NULL: the input is no scan */
    const qb_scan_info *info; /* the scan's, or NULL */
    const char *input;        /* name of the input in messages */
    const void *more;         /* the caller's second input: a geometry */
    const qb_prep_options *prep;
    void *options; /* of the method's table; its decide() may complete them */
    const qb_output_options *output;
    int threads;
    qb__device_set *devices;    /* those to compute on, at least one, for an engine on devices; NULL for others */
    double read, write;         /* bytes a second from the scan's file and to the output */
    const char *write_from;     /* source of the write rate: "measured" or "listed ..." */
    bool in_memory;             /* both files are in memory: reading and writing at once share one rate */
    const qb__comm_grid *ranks; /* grid of ranks that share slabs and views; NULL: none */
} qb__task;

/* What the frame lends while a job runs. */
typedef struct qb__running {
    const qb_env *env;
    const qb__prepare *prepare; /* NULL without a scan */
    qb__pool *pool;
    char **scratch;             /* [threads] of what scratch() said */
    qb__prep_counts *counts;    /* [threads] */
    qb__volume_out *volume;     /* open: where the images go */
    const qb__comm_grid *ranks; /* grid of ranks that share slabs and views; NULL = none */
    bool *taken;                /* to be set where the scan's numbers are taken without being read */
    cJSON *report;
    qb_job *job; /* takes hashes of what is read */
} qb__running;

/* What an engine says to a job. */
typedef struct qb__offer {
    void *state;         /* its own; NULL: it has no part in this job */
    bool named;          /* the user named its kernel, or asked for what only it does: no other may take over */
    double start;        /* forecast seconds before the first chunk: starting up, compiling */
    qb__pool *pool;      /* threads of the engine, which the job uses too; NULL: none */
    bool timed;          /* of the cuts that fit, take the fastest and not the first */
    bool converts;       /* its output has the file's type, clamped values are counted */
    bool sums;           /* the engine sums over columns of ranks: its output is this rank's part of each slab */
    qb__cut_space space; /* how the job may be cut; callbacks and cap.host are the frame's */
    const qb__cut_space
        *other; /* in slabs of another kind, with the same bits: taken where it is faster. Not with ranks; NULL: none */
} qb__offer;

typedef struct qb__engine {
    /* It computes on the devices of the task. It is asked only where there are any; and it alone is, where the user named one:
     * if it declines then, or fails, the job fails. */
    bool on_device;
    /* Asked only where none before it has offered: it takes the least room, and longer. */
    bool last;
    /* Whether and how it would do what `plan`, the method's, says. `offer` is zeroed; its state is
     * destroyed also after a failure. QB_UNSUPPORTED with the reason when it cannot, and others may. */
    qb_status (*decide)(const qb__task *task, void *plan, const qb_env *env, qb__offer *offer);
    /* Slabs were cut anew, as in qb__cut_space: what leaves them, as many chunks of each. NULL: each is one chunk. */
    void (*slabs)(void *state, qb__cut *cut, size_t *edge, qb__chunks *chunks);
    /* Bytes that a cut holds besides rings. */
    qb__room (*memory)(void *state, const qb__cut *cut);
    /* Forecast of the whole job, transfers counted. NULL: what its stages are forecast to take, played through. */
    double (*seconds)(void *state, const qb__cut *cut);
    /* The stages between the method's own and the output's; how the slots that the first of them
     * reads are made goes into *source. Returns how many. */
    int (*stages)(void *state, const qb__cut *cut, qb__slot_maker *source, qb__stage *stages);
    /* Take what this cut needs. QB_NO_MEMORY: a smaller one is tried, after close(). */
    qb_status (*open)(void *state, const qb__cut *cut, const qb__running *run);
    /* Once all ranks of a grid have opened: what takes all of them; may be NULL. A failure is the same on all. */
    qb_status (*join)(void *state);
    /* After the last chunk of a run that succeeded: what was mended into *counts, what is worth knowing into the report.
     * May be NULL. */
    qb_status (*finish)(void *state, cJSON *report, qb__prep_counts *counts);
    void (*close)(void *state); /* release what open made; may be NULL */
    /* Adds what the engine knows of the job in this cut; also of the least cut, where even that has no room. */
    void (*facts)(void *state, const qb__cut *cut, qb__job_facts *facts);
    void (*destroy)(void *state);
} qb__engine;

/* "cpu", "device"; what has no room, in messages. */
static inline const char *qb__engine_name(const qb__engine *engine) { return engine->on_device ? "device" : "cpu"; }
static inline const char *qb__engine_place(const qb__engine *engine) {
    return engine->on_device ? "the device" : "this computer";
}

#endif
