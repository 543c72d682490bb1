/* SPDX-License-Identifier: MIT */
#ifndef QB_RECON_RECONSTRUCTION_PARTS_H
#define QB_RECON_RECONSTRUCTION_PARTS_H

#include "base/comm.h"
#include "prep/phase.h"
#include "recon/method.h"

/* Of the files reconstruction_*.c alone. */

enum { QB__ENGINES_MAX = 4, QB__SUM_PIECE = 1 << 20 /* bytes of a run that is summed at a time */ };

/* An engine that has offered to do the job. */
typedef struct qb__reconstruction qb__reconstruction;
typedef struct qb__candidate {
    qb__reconstruction *r;
    const qb__engine *engine;
    qb__offer offer;
    qb__cut cut;       /* the best that fits */
    double seconds;    /* forecast of that cut, without starting */
    qb__chunks chunks; /* of the cut that its engine was given last */
} qb__candidate;

/* Which one computes, in which cut; written by reconstruction_cut.c. */
typedef struct qb__pick {
    int chosen;          /* of the candidates */
    qb__cut cut;         /* its own, or a smaller one where there was less room */
    double seconds;      /* forecast of that cut, without starting */
    size_t *edge;        /* [slabs + 1] where slabs begin, in the order of the cut */
    size_t *todo;        /* slabs still to make, in a resumed job; NULL: all */
    size_t memory;       /* forecast of the peak */
    qb__job_facts facts; /* of the chosen engine and the method, in this cut */
} qb__pick;

/* What of the job is this rank's; written by reconstruction_ranks.c. */
typedef struct qb__share {
    const qb__comm_grid *ranks; /* as a grid; NULL: a run of slices each */
    qb__comm_part *parts;       /* [2 * columns] what those of a row send each other, ... */
    char *staged;               /* ... and [columns][QB__SUM_PIECE] where it comes */
    qb__cut_grid grid;          /* the same for the cut; no rows: none */
    size_t first, count;        /* slices that this rank makes; none: it only waits for the others, or works for them */
    size_t row0, row1;          /* detector rows of the whole job */
    size_t view0, views;        /* that this rank's digest is of */
    qb__room cap;               /* of a grid: that all ranks have ... */
    const qb__engine *cap_of;   /* ... for this engine; NULL: they have not said so yet */
    size_t own0, own1; /* those of this rank's that the one before does not read, too: they are in its digest, ... */
    size_t gap0, gap1; /* ... but for these between them */
} qb__share;

struct qb__reconstruction {
    qb_job job;
    const qb__method *method;
    void *plan; /* the method's */
    char *command, *input;
    qb_prep_options prep;
    qb__phase *phase; /* NULL: none is retrieved */
    void *options;
    qb_output_options output;
    qb__task task;
    qb__decision decision;
    cJSON *remarks; /* the plan as decide() left it */
    qb__volume_out volume;

    qb__candidate candidate[QB__ENGINES_MAX]; /* in the order in which they are tried */
    int candidates;
    qb__pick pick;
    qb__device_set devices; /* that --device means; opened when the first engine on devices is asked, ... */
    bool looked;            /* ... once a plan */
    size_t cap, held, before;
    bool ends; /* the last engine asked leaves nothing to ask others */
    bool full; /* the cap has no room for one that was asked */

    qb__comm *comm; /* those that share the job; NULL = none */
    qb__share share;

    /* while running */
    qb__running running;
    qb__prepare *prepare;
    bool taken; /* the scan's numbers, by the engine where they are */
    qb__pipeline *line;
    qb__pool *pool; /* own; the running one may be the engine's */
    bool opened;    /* the engine, in this run */
    bool named;     /* the output has got its name */
    qb__pipeline_report times;
};

static inline bool qb__idle(const qb__reconstruction *r) { return r->comm && r->share.count == 0 && !r->share.ranks; }

static inline qb__candidate *qb__chosen(qb__reconstruction *r) { return &r->candidate[r->pick.chosen]; }

/* ---- what a cut holds and takes with an engine (reconstruction_cut.c) ---- */

/* Chunks that the first stage makes. */
size_t qb__candidate_chunks(const qb__candidate *c, const qb__cut *cut);
/* From reading to writing; how many. */
int qb__candidate_stages(const qb__candidate *c, const qb__cut *cut, qb__stage *stages);
/* The best cut of its offer, of this rank's slices, into c->cut; *fits false, and a failure, where none fits. */
qb_status qb__candidate_cut(qb__candidate *c, const qb_env *env, bool *fits);
/* Not even the least cut has room on its device. cap: what may be used; NULL: that was found by trying, and the detail says what
 * there was no room for. */
qb_status qb__candidate_no_room(const qb__candidate *c, const qb__cut *least, const qb__room *cap, const qb_env *env);
/* Take that candidate, with its cut, and say so. */
qb_status qb__engines_choose(qb__reconstruction *r, int number, const qb_env *env);
/* What follows from r->pick.cut: edges, forecasts, facts. */
void qb__engines_settle(qb__reconstruction *r);
/* The facts alone, anew: what was found since then. */
void qb__engines_find_facts(qb__reconstruction *r);
/* The stages of the chosen engine and its cut; how many chunks the first one makes. */
int qb__engines_stages(qb__reconstruction *r, qb__stage *stages, size_t *chunks);

/* ---- which engine (reconstruction_engines.c) ---- */

/* Ask the engines and cut the job for each; those it fits, or why none. */
qb_status qb__engines_decide(qb__reconstruction *r, const qb_env *env);
/* Another one computes, and why. */
void qb__engines_report_next(const qb_env *env, const char *why);
void qb__engines_destroy(qb__reconstruction *r);

/* ---- room (reconstruction_open.c) ---- */

/* Scratch, engine and slots, with smaller cuts and then other engines where there is no room. */
qb_status qb__engines_open(qb__reconstruction *r, const qb_env *env);
void qb__engines_close(qb__reconstruction *r); /* what open took */

/* ---- ranks (reconstruction_ranks.c, reconstruction_reduce.c) ---- */

/* Which slices are this rank's, once the method has decided; QB_UNSUPPORTED where they cannot be shared. */
qb_status qb__ranks_share(qb__reconstruction *r, const qb_env *env);
/* Of a grid, its cap becomes what each of the ranks has, so that all look for a cut with the same. */
qb_status qb__ranks_cap(qb__candidate *c);
/* The smallest of all ranks' cuts, for all ranks of a grid. */
qb_status qb__ranks_cut(qb__reconstruction *r);
/* Behind the engine's stages, those of a row of ranks: sums of their slabs, or each one's part of what is
 * summed. Returns how many stages. */
int qb__ranks_stages(qb__reconstruction *r, const qb__cut *cut, qb__stage *stages);
/* All have a plan, and the same one. */
qb_status qb__ranks_agree(qb__reconstruction *r, qb_status mine);
/* What was read and mended, of all: the digest, where this is rank 0, and *sum. */
qb_status qb__ranks_sum(qb__reconstruction *r, qb_status mine, qb__prep_counts *sum);
/* Into rank 0's report what the others did. */
qb_status qb__ranks_report(qb__reconstruction *r, qb_status mine);

/* ---- what a few lines show before streaming begins (reconstruction_look.c) ---- */

/* Warn of values, angles and ends of rows that cannot be right. Collective over all ranks, once the scan is prepared. */
qb_status qb__reconstruction_look(qb__reconstruction *r, const qb_env *env);

/* ---- going on (reconstruction_keep.c) ---- */

/* What of it the volume keeps; QB_BAD_ARGUMENT, and why, where it cannot go on. */
qb_status qb__keep_check(qb__reconstruction *r);
void qb__keep_begin(qb__reconstruction *r); /* before the volume is opened */
/* Of r->line only chunks that were not found done are made; ranks of a grid come here together. */
qb_status qb__keep_skip_done(qb__reconstruction *r, const qb_env *env);

/* ---- what is told (reconstruction_forecast.c, reconstruction.c) ---- */

/* Seconds until all chunks have passed all stages. each[QB__STAGES_MAX]: of all chunks of a stage, had it all threads; 0: not
 * known; may be NULL. *known, unless that is NULL: those of all stages between the first and the last one. */
double qb__play_stages(const qb__stage *stages, int count, size_t chunks, int threads, double *each, bool *known);
/* Seconds from the first look at the scan to the last file's name, but for starting a device: into {"forecast":
 * {axis, preparation, stages: {read: ..., ...}, streaming, rates}}. */
double qb__reconstruction_forecast(qb__reconstruction *r, cJSON *plan);
/* The plan's JSON for what is chosen now. */
qb_status qb__reconstruction_describe(qb__reconstruction *r);

#endif
