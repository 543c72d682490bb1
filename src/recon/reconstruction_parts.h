/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/comm.h"
#include "center/center_look.h"
#include "prep/dense.h"
#include "prep/phase.h"
#include "prep/view_ends.h"
#include "recon/method.h"

/* Only for the files reconstruction_*.c. */

enum { QB__ENGINES_MAX = 4, QB__SUM_PIECE = 1 << 20 /* bytes of a run that are summed at a time */ };

/* An engine that has offered to do the job. */
typedef struct qb__reconstruction qb__reconstruction;
typedef struct qb__candidate {
    qb__reconstruction *r;
    const qb__engine *engine;
    qb__offer offer;
    qb__cut cut;       /* the best that fits */
    double seconds;    /* forecast of the cut, without the start */
    size_t *edge;      /* [slabs + 1] limits of its slabs, in the order of the cut */
    qb__chunks chunks; /* chunks of the slabs, for the cut that the engine got last */
} qb__candidate;

/* The chosen candidate and its cut; written by reconstruction_cut.c. */
typedef struct qb__pick {
    int chosen;          /* index of the chosen candidate */
    qb__cut cut;         /* the candidate's, or a smaller one if there was less memory */
    size_t *todo;        /* remaining slabs of a resumed job; NULL: all */
    size_t memory;       /* forecast of the peak */
    qb__job_facts facts; /* facts of the chosen engine and the method, with this cut */
} qb__pick;

/* This rank's share of the job; written by reconstruction_ranks.c. */
typedef struct qb__share {
    const qb__comm_grid *ranks; /* the grid of ranks; NULL: each rank has a run of slices */
    qb__comm_part *parts;       /* [2 * columns] messages between the ranks of a row */
    char *staged;               /* [columns][QB__SUM_PIECE] buffers for these messages */
    qb__cut_grid grid;          /* the grid as the cut sees it; rows 0: none */
    size_t first, count;        /* slices that this rank computes; 0: it only waits for the others, or works for them */
    size_t row0, row1;          /* detector rows of the whole job */
    size_t view0, views;        /* views in this rank's digest */
    qb__room cap;               /* memory that every rank of a grid has */
    const qb__engine *cap_of;   /* the engine that `cap` is for; NULL: not exchanged yet */
    size_t own0, own1;          /* rows in this rank's digest: those that the previous rank does not read too */
    size_t gap0, gap1;          /* rows within own0..own1 that are not in the digest */
} qb__share;

struct qb__reconstruction {
    qb_job job;
    const qb__method *method;
    void *plan; /* the method's plan struct, method->plan_bytes */
    char *command, *input;
    qb_prep_options prep;
    qb__phase *phase; /* NULL: no phase retrieval */
    qb__dense *dense; /* NULL: no correction for two materials */
    void *options;
    qb_output_options output;
    qb__task task;
    qb__decision decision;
    cJSON *remarks; /* the plan as decide() left it */
    qb__volume_out volume;

    qb__candidate candidate[QB__ENGINES_MAX]; /* candidates in the order in which they are tried */
    int candidates;
    qb__pick pick;
    qb__device_set devices; /* the devices of --device, opened when the first device engine is asked */
    bool silent;            /* same meaning as in qb__request */
    bool looked;            /* `devices` was opened for this plan */
    size_t cap, held, before;
    bool ends; /* the last engine asked ends the search */
    bool full; /* an engine that was asked has no memory within the cap */

    qb__comm *comm; /* the ranks of the job; NULL = one process */
    qb__share share;

    /* while running */
    qb__running running;
    qb__prepare *prepare;
    bool taken; /* the engine uses the scan's array in place */
    qb__pipeline *line;
    qb__pool *pool; /* own pool; the running one may be the engine's */
    bool opened;    /* the engine is open in this run */
    bool named;     /* the output has got its name */
    qb__pipeline_report times;
};

static inline bool qb__idle(const qb__reconstruction *r) { return r->comm && r->share.count == 0 && !r->share.ranks; }

static inline qb__candidate *qb__chosen(qb__reconstruction *r) { return &r->candidate[r->pick.chosen]; }

/* Find the range of integers by an extra run of the whole job. planner: qb__reconstruction_plan(). */
struct qb__request;
typedef qb_status qb__planner(const qb__method *method, const struct qb__request *request, const qb_env *env,
                              qb_job **job);
qb_status qb__range_of_volume(const qb__reconstruction *r, qb__planner *planner, double *low, double *high);

/* --hardening two (reconstruction_draft.c). qb__draft_check refuses jobs whose paths cannot be computed, before any
 * work. qb__draft_run computes the paths, once the axis is known. */
qb_status qb__draft_check(const qb__reconstruction *r);
size_t qb__draft_bytes(const qb__reconstruction *r);
double qb__draft_seconds(const qb__reconstruction *r, double seconds);
qb_status qb__draft_run(qb__reconstruction *r, qb__planner *planner, const qb_env *env);

/* ---- memory and time of a cut with an engine (reconstruction_stages.c, reconstruction_cut.c) ---- */

/* Number of chunks that the first stage makes. */
size_t qb__candidate_chunks(const qb__candidate *c, const qb__cut *cut);
/* All stages, from reading to writing. Returns their number. */
int qb__candidate_stages(const qb__candidate *c, const qb__cut *cut, qb__stage *stages);
/* The best cut of its offer, for this rank's slices, into c->cut; *fits false, and a failure, if none fits. */
qb_status qb__candidate_cut(qb__candidate *c, const qb_env *env, bool *fits);
/* The error if even the smallest cut does not fit on its device. cap: memory that may be used; NULL: found by trying,
 * and the detail tells what did not fit. */
qb_status qb__candidate_no_room(const qb__candidate *c, const qb__cut *least, const qb__room *cap, const qb_env *env);
/* Choose the candidate with its cut, and report it. */
void qb__engines_choose(qb__reconstruction *r, int number, const qb_env *env);
/* Update what follows from r->pick.cut: limits, forecasts, facts. */
void qb__engines_settle(qb__reconstruction *r);
/* Update only the facts, from what was found since they were last updated. */
void qb__engines_find_facts(qb__reconstruction *r);
/* Create the stages of the chosen engine and its cut; returns the number of chunks of the first one. */
int qb__engines_stages(qb__reconstruction *r, qb__stage *stages, size_t *chunks);

/* ---- choice of the engine (reconstruction_engines.c) ---- */

/* Ask the engines and cut the job for each; the candidates that fit, or the reason why none does. */
qb_status qb__engines_decide(qb__reconstruction *r, const qb_env *env);
/* Report that another engine computes, and why. */
void qb__engines_report_next(const qb_env *env, const char *why);
void qb__engines_destroy(qb__reconstruction *r);

/* ---- memory (reconstruction_open.c) ---- */

/* Allocate scratch, engine and slots, with smaller cuts and then other engines if memory is short. */
qb_status qb__engines_open(qb__reconstruction *r, const qb_env *env);
void qb__engines_close(qb__reconstruction *r); /* release what open made */

/* ---- ranks (reconstruction_ranks.c, reconstruction_reduce.c) ---- */

/* Find this rank's slices, once the method has decided. QB_UNSUPPORTED if they cannot be shared. */
qb_status qb__ranks_share(qb__reconstruction *r, const qb_env *env);
/* In a grid of ranks: lower the cap to the least of all ranks, so that all find the same cut (reconstruction_cap.c). */
qb_status qb__ranks_cap(qb__candidate *c);
/* The smallest of all ranks' cuts, for all ranks of a grid. */
qb_status qb__ranks_cut(qb__reconstruction *r);
/* Add the stages of a row of ranks, after the engine's: they sum slabs over the row, or keep this rank's part of the
 * sum. Returns the number of stages. */
int qb__ranks_stages(qb__reconstruction *r, const qb__cut *cut, qb__stage *stages);
/* Fails unless all ranks have the same plan. */
qb_status qb__ranks_agree(qb__reconstruction *r, qb_status mine);
/* Sum counts of prepared values and digests over all ranks, into rank 0's digest and *sum. */
qb_status qb__ranks_sum(qb__reconstruction *r, qb_status mine, qb__prep_counts *sum);
/* Add the other ranks' reports to rank 0's. */
qb_status qb__ranks_report(qb__reconstruction *r, qb_status mine);

/* ---- checks of a few lines before streaming (reconstruction_look.c) ---- */

/* Warn of values, angles and ends of rows that cannot be right. Collective over all ranks, after the scan is
 * prepared. */
qb_status qb__reconstruction_look(qb__reconstruction *r, const qb_env *env);
/* Check the stated height of a cone-beam detector, as a part of qb__reconstruction_look(). `room`: bytes that it may use.
 * Not with ranks. */
qb_status qb__reconstruction_look_height(qb__reconstruction *r, size_t room, const qb_env *env);

/* ---- the transpose (reconstruction_transpose.c) ---- */

qb_status qb__reconstruction_transpose(qb_job *job, const qb_tensor *volume, const qb_env *env,
                                       const qb_tensor *projections);

/* ---- resume (reconstruction_keep.c) ---- */

/* Decide what the volume saves for a resumed run. QB_BAD_ARGUMENT with the reason if it cannot be resumed. */
qb_status qb__keep_check(qb__reconstruction *r);
void qb__keep_begin(qb__reconstruction *r); /* before the volume is opened */
/* Skip chunks of r->line that are done already. Collective over the ranks of a grid. */
qb_status qb__keep_skip_done(qb__reconstruction *r, const qb_env *env);

/* ---- the plan (reconstruction_forecast.c, reconstruction_describe.c) ---- */

/* Seconds until all chunks have passed all stages. each[QB__STAGES_MAX]: seconds of all chunks of a stage with all
 * threads; 0: unknown; may be NULL. *known, unless NULL: sum of all stages between the first and the last one. */
double qb__play_stages(const qb__stage *stages, int count, size_t chunks, int threads, double *each, bool *known);
/* Seconds from the first check of the scan to the last file's name, without the start of a device: into {"forecast":
 * {axis, preparation, stages: {read: ..., ...}, streaming, rates}}. */
double qb__reconstruction_forecast(qb__reconstruction *r, cJSON *plan);
/* The plan's JSON for the current choice. */
qb_status qb__reconstruction_describe(qb__reconstruction *r);

/* Warn if the views do not turn as their angles state. opposites: result of comparing opposite views of parallel
 * rays. */
qb_status qb__reconstruction_look_turn(qb__reconstruction *r, const qb__lines_look *lines, const qb_env *env,
                                       qb__opposites *opposites);
/* Column of the axis as the geometry, or the caller, states it; NAN: unknown. radians: [views]. */
void qb__axis_asked(const qb__reconstruction *r, qb__center_look *asked, double *stated, double *radians);
/* Bytes that a check may take, of what streaming will use. */
size_t qb__look_room(const qb__reconstruction *r);
