/* SPDX-License-Identifier: MIT */
#ifndef QB_RECON_RECONSTRUCTION_PARTS_H
#define QB_RECON_RECONSTRUCTION_PARTS_H

#include "recon/reconstruction.h"

/* Of reconstruction.c and reconstruction_engines.c alone. */

enum { QB__ENGINES_MAX = 4 };

/* An engine that has offered to do the job. */
typedef struct qb__reconstruction qb__reconstruction;
typedef struct qb__candidate {
    qb__reconstruction *r;
    const qb__engine *engine;
    qb__offer offer;
    qb__cut cut; /* the best that fits */
} qb__candidate;

struct qb__reconstruction {
    qb_job job;
    const qb__method *method;
    void *plan; /* the method's */
    char *command, *input;
    qb_prep_options prep;
    void *options;
    qb_output_options output;
    qb__task task;
    qb__decision decision;
    cJSON *remarks; /* the plan as decide() left it */
    qb__volume_out volume;

    qb__candidate candidate[QB__ENGINES_MAX]; /* in the order in which they are tried */
    int candidates, chosen;
    qb__cut cut;   /* of the chosen one: its own, or a smaller one where there was less room */
    size_t *edge;  /* [slices or views + 2] images of each chunk of the output */
    size_t cap, held, before;
    size_t memory; /* forecast of the peak */
    double start;  /* seconds before the first chunk */
    bool ends;     /* the last engine asked leaves nothing to ask others */

    /* while running */
    qb__running running;
    qb__prepare *prepare;
    bool taken; /* the scan's numbers, by the engine where they are */
    qb__pipeline *line;
    qb__pool *pool;        /* own; the running one may be the engine's */
    bool opened, finished; /* the engine, in this run */
};

static inline qb__candidate *qb__chosen(qb__reconstruction *r) {
    return &r->candidate[r->chosen];
}

/* Ask the engines and cut the job for each; those it fits, or why none. */
qb_status qb__engines_decide(qb__reconstruction *r, const qb_env *env);
/* Take that candidate, with its cut, and say so. */
qb_status qb__engines_choose(qb__reconstruction *r, int number, const qb_env *env);
/* What follows from r->cut: edges, forecasts. */
void qb__engines_settle(qb__reconstruction *r);
/* Scratch, engine and slots, with smaller cuts and then other engines where there is no room. */
qb_status qb__engines_open(qb__reconstruction *r, const qb_env *env);
void qb__engines_close(qb__reconstruction *r); /* what open took */
void qb__engines_destroy(qb__reconstruction *r);
/* The plan's JSON for what is chosen now (reconstruction.c). */
qb_status qb__reconstruction_describe(qb__reconstruction *r);

#endif
