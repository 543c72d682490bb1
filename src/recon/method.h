/* SPDX-License-Identifier: MIT */
#ifndef QB_RECON_METHOD_H
#define QB_RECON_METHOD_H

#include "io/digest.h"
#include "io/plain/source.h"
#include "job/describe.h"
#include "prep/levels_said.h"
#include "prep/truncation/truncation.h"
#include "prep/turn_check.h"
#include "recon/engine.h"

/* What a method is to the frame (reconstruction.h), as docs/howto-algorithm.md shows. */

/* What a method's decide() says to the frame. */
typedef struct qb__decision {
    qb__subject subject;               /* filled in from the scan where there is one, but for grid and units */
    qb_stack stack;                    /* the output; without dtype and scale */
    double hu;                         /* as qb__volume_out's */
    const qb__mask *mask;              /* likewise; the plan's */
    bool of_views;                     /* the images are projections; else slices */
    const char *sidecar;               /* a file that end() writes; NULL = none */
    const struct qb__instead *instead; /* what is done instead of streaming a volume; NULL: nothing */
    size_t row0, row1;                 /* detector rows that are prepared, ... */
    size_t row_step;                   /* ... every such one; 0 = 1 */
    bool keep_lost;                    /* what has no value stays NaN in them; else it is bridged */
    bool slices_are_rows;              /* slice i sees detector row row0 + i * row_step and no other */
    /* [slices], the plan's: nothing that a slice sees was ever measured; NULL: of slices that are rows, the rows' own */
    const bool *lost;
    size_t grain;         /* slices that ranks do not part, as they depend on each other; 0 = 1 */
    const char *grid;     /* ranks as ROWSxCOLUMNS, or "auto": slabs of sums over views; NULL: it has no such */
    size_t view_grain;    /* views that ranks do not part where they share them; 0 = 1 */
    bool summed;          /* ranks share the views, and each makes the sum over those of all: a volume of the whole */
    const char *together; /* why slices cannot be shared among ranks at all; NULL: they can */
    bool resume;          /* go on with what a run of the same job left; ... */
    double checkpoint;    /* ... and every so many seconds note what is done for such a one; 0 = never */
    size_t times;         /* that `instead` does what a volume's stages do; 0 = 1 */
    double begin_seconds; /* that begin() is forecast to take: looking for the axis; ... */
    size_t begin_bytes;   /* ... that it needs; 0: nothing is looked for */
    /* What range() needs besides what is held all the time, with the kernel that was chosen; NULL: it is not called. */
    size_t (*range_bytes)(const void *plan);
    size_t more;               /* bytes held from beginning to end */
    qb__source *source;        /* the input, a volume, where it is no scan; only looked at */
    qb__truncation_check ends; /* rows that should end in air; zeroed: not checked */
    qb__turn_asked turn;       /* where views are said to be; zeroed: not checked */
    qb__levels_asked levels;   /* which values the method cannot use */
    qb__digest *digest;        /* the method's, that its reading adds to: told as `volume`; NULL: none */
    char angles[448];          /* the plan's text on the views' angles; empty: the scan's first and last */
} qb__decision;

/* Work instead of streaming a volume: trial slices. */
typedef struct qb__instead {
    qb_status (*run)(void *plan, const qb__running *run);
    /* What it will write is none of the inputs (qb__outputs_check). */
    qb_status (*protect_inputs)(const void *plan, const qb__inputs *inputs, const qb_env *env);
} qb__instead;

typedef struct qb__method {
    const char *verb;
    const qb_param *params;           /* of its options */
    size_t options_bytes, plan_bytes; /* of the options' struct; of its own, made zeroed */
    const qb__engine *const *engines; /* NULL at the end; what is asked at no cost first */

    /* Everything that can be decided without opening an output or taking much memory; remarks for the
     * plan go into `json`. */
    qb_status (*decide)(const qb__task *task, void *plan, const qb_env *env, cJSON *json, qb__decision *decision);
    /* The stages in front of the engine's: reading. Returns how many. */
    int (*stages)(void *plan, const qb__cut *cut, qb__stage *stages);
    void (*release)(void *plan); /* also half decided */

    /* The rest may be NULL. */
    /* Adds what the method knows of the job in this cut; may use some of the spare memory. */
    void (*facts)(void *plan, const qb__cut *cut, qb__job_facts *facts);
    /* The detector rows that `count` slices from `first` on need. NULL: ranks cannot share the slices. */
    void (*rows)(const void *plan, size_t first, size_t count, size_t *row0, size_t *row1);
    /* Before preparation: what is looked for in the scan. *anew: what was found changes what was
     * decided; release() and decide() are called again then. */
    qb_status (*begin)(void *plan, const qb_env *env, cJSON *report, bool *anew);
    /* After preparation, before streaming: what is found from numbers of the whole scan. Every rank comes here, also one
     * without slices. */
    qb_status (*measure)(void *plan, const qb__running *run);
    /* The range of integers where the options give none; NULL: they must. */
    qb_status (*range)(void *plan, const qb__running *run, double *low, double *high);
    /* Before the streaming: what the method's own stages need in this cut. Called again, after a cut that had no room. */
    qb_status (*open)(void *plan, const qb__cut *cut);
    /* Behind it, before the output gets its name; `set` takes files that are written with it. */
    qb_status (*end)(void *plan, cJSON *report, qb__publication *set);
    /* The end of every run: releases what measure() found and open() took. `named`: the output has got its name. */
    void (*close)(void *plan, bool named);
} qb__method;

#endif
