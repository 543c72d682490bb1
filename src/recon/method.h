/* SPDX-License-Identifier: MIT */
#ifndef QB_RECON_METHOD_H
#define QB_RECON_METHOD_H

#include "io/digest.h"
#include "io/plain/source.h"
#include "job/describe.h"
#include "kernels/spread/spread_device.h"
#include "prep/levels_said.h"
#include "prep/truncation/truncation.h"
#include "prep/turn_check.h"
#include "recon/engine.h"

/* What a method is to the frame (reconstruction.h), as docs/howto-algorithm.md shows. */

/* The result of a method's decide(). */
typedef struct qb__decision {
    qb__subject subject;  /* filled in from the scan where there is one, but for grid and units */
    qb_stack stack;       /* the output; without dtype and scale */
    double hu;            /* water's attenuation for Hounsfield units; 0: none */
    const qb__mask *mask; /* voxels that are masked; owned by the plan */
    bool of_views;        /* the images are projections; else slices */
    const char *sidecar;  /* a file that end() writes; NULL = none */
    size_t row0, row1;    /* detector rows that are prepared: row0 <= row < row1 */
    size_t row_step;      /* prepare every row_step-th row; 0 = 1 */
    bool keep_lost;       /* unmeasured values of prepared rows stay NaN; else they are interpolated */
    qb_pad pad;           /* what continues rows whose ends were not measured; of methods that filter --pad */
    bool slices_are_rows; /* slice i sees detector row row0 + i * row_step and no other */
    /* [slices], owned by the plan: true if nothing that the slice sees was measured; NULL: if slices are rows, the
     * frame takes the unmeasured rows */
    const bool *lost;
    size_t grain;     /* ranks' shares of slices are multiples of this, since such slices depend on each other; 0 = 1 */
    const char *grid; /* --grid: ROWSxCOLUMNS or "auto"; NULL: the method has no grid of ranks */
    size_t view_grain;    /* ranks' shares of views are multiples of this; 0 = 1 */
    bool summed;          /* ranks share the views, and each makes the sum over those of all: a volume of the whole */
    const char *together; /* why slices cannot be shared among ranks at all; NULL: they can */
    bool resume;          /* resume what an interrupted run of the same job has left */
    double checkpoint;    /* seconds between notes of what is done, for a resumed run; 0 = never */
    double begin_seconds; /* forecast seconds of begin(): search for the axis */
    size_t begin_bytes;   /* bytes that begin() needs; 0: no search */
    /* What range() needs besides what is held all the time, with the kernel that was chosen; NULL: it is not called. */
    size_t (*range_bytes)(const void *plan);
    size_t more;               /* bytes held from beginning to end */
    qb__source *source;        /* the input, a volume, where it is no scan; only looked at */
    qb__truncation_check ends; /* rows that should end in air; zeroed: not checked */
    qb__turn_asked turn;       /* the stated positions of the views; zeroed: not checked */
    double axis;               /* the stated column of parallel rays' axis, where `turn` has no geometry */
    bool axis_stated;          /* there is such a column */
    bool axis_found;           /* a finder said where the axis is: it is not checked */
    qb__levels_asked levels;   /* values that the method cannot use */
    qb__digest *digest;        /* digest of the input volume, updated while reading, reported as "volume"; NULL: none */
    char angles[448];          /* the plan's text on the views' angles; empty: the scan's first and last */
} qb__decision;

/* The arrays of a transpose. */
typedef struct qb__transposing {
    const float *volume; /* [z][y][x] of the decision's stack; masked voxels are 0 */
    float *lines;        /* [view][row][column] of the scan, zero at first */
    qb__pool *pool;
    const qb_env *env;
    qb__device *device; /* device on which the job was computed; NULL: the CPU */
} qb__transposing;

/* The transpose of a back-projection on t's device, block by block of views, handing each view's [row][column] to
 * `finish` on the pool's threads. *done false, and QB_OK: it is for the CPU, which the geometry or the device's memory
 * asks for. */
typedef void qb__finish_view(void *context, size_t view, const float *lines, int worker);
qb_status qb__transpose_on_device(const qb__transposing *t, const qb__spread_problem *problem, qb__finish_view *finish,
                                  void *context, bool *done);

typedef struct qb__method {
    const char *verb;
    const qb_param *params;           /* table of its options */
    size_t plan_bytes;                /* size of the plan struct; the frame allocates it with zeros */
    const qb__engine *const *engines; /* NULL at the end; what is asked at no cost first */

    /* Decide everything that needs neither an open output nor much memory. Remarks for the plan go into `json`. */
    qb_status (*decide)(const qb__task *task, void *plan, const qb_env *env, cJSON *json, qb__decision *decision);
    /* The stages in front of the engine's: reading. Returns how many. */
    int (*stages)(void *plan, const qb__cut *cut, qb__stage *stages);
    void (*release)(void *plan); /* also called for a plan that is only half decided */

    /* The following may be NULL. */
    /* Adds what the method knows of the job in this cut; may use some of the spare memory. */
    void (*facts)(void *plan, const qb__cut *cut, qb__job_facts *facts);
    /* The detector rows that `count` slices from `first` on need. NULL: ranks cannot share the slices. */
    void (*rows)(const void *plan, size_t first, size_t count, size_t *row0, size_t *row1);
    /* Before preparation: what is looked for in the scan. *anew: what was found changes what was
     * decided; release() and decide() are called again then. */
    qb_status (*begin)(void *plan, const qb_env *env, cJSON *report, bool *anew);
    /* After preparation, before streaming: what is found from numbers of the whole scan. Every rank comes here, also
     * one without slices. */
    qb_status (*measure)(void *plan, const qb__running *run);
    /* Finds the range of integers if the options give none; NULL: the options must give it. */
    qb_status (*range)(void *plan, const qb__running *run, double *low, double *high);
    /* Before the streaming: what the method's own stages need in this cut. Called again, after a cut that had no
     * room. */
    qb_status (*open)(void *plan, const qb__cut *cut);
    /* Behind it, before the output gets its name; `set` takes files that are written with it. */
    qb_status (*end)(void *plan, cJSON *report, qb__publication *set);
    /* The exact transpose of what the streaming makes of line integrals. QB_UNSUPPORTED with the reason for options
     * that are not linear. NULL: the method is not. */
    qb_status (*transpose)(void *plan, const qb__transposing *t);
    /* The end of every run: releases what measure() found and open() took. `named`: the output has got its name. */
    void (*close)(void *plan, bool named);
} qb__method;

#endif
