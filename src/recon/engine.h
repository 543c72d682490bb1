/* SPDX-License-Identifier: MIT */
#ifndef QB_RECON_ENGINE_H
#define QB_RECON_ENGINE_H

#include "base/json.h"
#include "geometry/partition.h"
#include "job/job.h"
#include "job/pipeline.h"
#include "job/volume_out.h"
#include "prep/prepare.h"

/* Who computes a chunk: the CPU, devices. A method (method.h) decides what is to be done, an
 * engine how, and the frame which engine: of those that offer to do it the one whose forecast of the
 * whole job is the shortest. An engine is a row of its method's table and files of its own. */

/* What is asked of a job; methods and engines only read it. */
typedef struct qb__task {
    qb_scan *scan;            /* NULL: the input is no scan */
    const qb_scan_info *info; /* the scan's, or NULL */
    const char *input;        /* what messages call it */
    const void *more;         /* the caller's, beside the options: a geometry */
    const qb_prep_options *prep;
    void *options; /* of the method's table; its decide() may complete them */
    const qb_output_options *output;
    int threads;
    double read, write;     /* bytes a second from the scan's file and to the output's, ... */
    const char *write_from; /* ... and where that is from: "measured", ... */
    bool in_memory;         /* both files: reading and writing at once share what each has alone */
} qb__task;

/* What the frame lends while a job runs. */
typedef struct qb__running {
    const qb_env *env;
    const qb__prepare *prepare; /* NULL without a scan */
    qb__pool *pool;
    char **scratch;             /* [threads] of what scratch() said */
    qb__prep_counts *counts;    /* [threads] */
    qb__volume_out *volume;     /* open: where the images go */
    const qb__comm_grid *ranks; /* that share slabs and views; NULL = none */
    bool *taken;                /* to be set where the scan's numbers are taken without being read */
    cJSON *report;
    qb_job *job; /* for the provenance of files beside the output */
    const char *command;
} qb__running;

/* What an engine says to a job. */
typedef struct qb__offer {
    void *state;         /* its own; NULL: it has no part in this job */
    bool named;          /* the user named it, or what only it does: no other may take over */
    bool timed;          /* of the cuts that fit, take the fastest and not the first */
    bool converts;       /* what it hands on is as the file will have it, clamped values counted */
    bool sums;           /* columns of ranks are summed by it: it hands on this rank's part of each slab */
    qb__cut_space space; /* how the job may be cut; callbacks and cap.host are the frame's */
} qb__offer;

typedef struct qb__engine {
    const char *name;  /* "cpu", "device" */
    const char *place; /* "the device": what has no room, in messages */
    /* Seconds that every job of it takes to start up, asked before it is looked for; another that is
     * forecast to be done by then goes without asking it. 0: it was named. NULL: none. */
    double (*least)(const qb_env *env);
    /* Whether and how it would do what `plan`, the method's, says. `offer` is zeroed; its state is
     * destroyed also after a failure. QB_UNSUPPORTED with the reason when it cannot, and others may. */
    qb_status (*decide)(const qb__task *task, void *plan, const qb_env *env, qb__offer *offer);
    /* Slabs were cut anew, as in qb__cut_space; may be NULL. */
    void (*slabs)(void *state, const qb__cut *cut, const size_t *edge);
    /* Bytes a cut holds besides rings and scratch; bytes of a thread's scratch (NULL: none). */
    qb__room (*memory)(void *state, const qb__cut *cut);
    size_t (*scratch)(void *state, const qb__cut *cut);
    /* Asked only where none before it has offered: it takes the least room, and longer. */
    bool last;
    /* Of the whole job, transfers counted (NULL: what its stages are forecast to take, played through); before its
     * first chunk: starting up, compiling. The latter may be NULL: nothing. */
    double (*seconds)(void *state, const qb__cut *cut);
    double (*start)(void *state);
    /* What of them a stage, by its name, takes of all its chunks, to be told; 0: not known. NULL: what the stages themselves say. */
    double (*part)(void *state, const qb__cut *cut, const char *stage);
    /* Nothing fits, not even `least`; what there was no room for is the detail when that was found by
     * trying, else `cap` says what may be used. Fails with a better one; NULL: none is known. */
    qb_status (*no_room)(void *state, const qb__cut *least, const qb__room *cap, const qb_env *env);
    /* What would fit into `host` bytes where that cut does not, said after that; NULL: nothing, ever. */
    void (*instead)(void *state, const qb__cut *least, size_t host, char *text, size_t size);
    /* Called once it is the one: what it is, what is worth a warning; may be NULL. */
    void (*tell)(void *state, const qb_env *env);
    /* The stages between the method's own and the output's; how the slots that the first of them
     * reads are made goes into *source. Returns how many. */
    int (*stages)(void *state, const qb__cut *cut, qb__slot_maker *source, qb__stage *stages);
    /* Threads that it has anyway, which others then use as well; may be NULL. */
    qb__pool *(*pool)(void *state);
    /* Take what this cut needs. QB_NO_MEMORY: a smaller one is tried, after close(). */
    qb_status (*open)(void *state, const qb__cut *cut, const qb__running *run);
    /* Once all ranks of a grid have opened: what takes all of them; may be NULL. A failure is the same on all. */
    qb_status (*join)(void *state);
    /* After the last chunk: what was mended into *counts, what is worth knowing into the report. After
     * a failure, too, if it was opened: `report` is NULL then. May be NULL. */
    qb_status (*finish)(void *state, cJSON *report, qb__prep_counts *counts);
    void (*close)(void *state); /* what open took; may be NULL */
    /* {kernel, accuracy, device, why, ...} */
    void (*describe)(void *state, const qb__cut *cut, cJSON *plan);
    const char *(*kernel)(void *state);
    void (*destroy)(void *state);
} qb__engine;

#endif
