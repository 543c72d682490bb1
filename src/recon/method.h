/* SPDX-License-Identifier: MIT */
#pragma once

#include "io/digest.h"
#include "io/plain/source.h"
#include "job/job.h"
#include "kernels/spread/spread_device.h"
#include "prep/levels_said.h"
#include "prep/truncation/truncation.h"
#include "prep/turn_check.h"
#include "recon/engine.h"

/* The interface between a method and the frame (reconstruction.h). docs/howto-algorithm.md shows an example. */

/* The result of a method's decide(). */
typedef struct qb__decision {
    /* texts and sizes for the plan; the frame fills in all but grid and units from the scan, if there is one */
    qb__subject subject;
    qb_stack stack; /* shape, voxels and quantity of the output; the frame sets dtype and scale */
    /* attenuation of water in the volume's units, to write Hounsfield units; 0: no Hounsfield units */
    double hu;
    const qb__mask *mask;        /* masked voxels (--outside, --circle); owned by the plan */
    const qb_geometry *of_views; /* geometry of the projections that are written; NULL: slices are written */
    const char *sidecar;         /* a file that end() writes; NULL = none */
    size_t row0, row1;           /* detector rows that are prepared: row0 <= row < row1 */
    size_t row_step;             /* prepare every row_step-th row; 0 = 1 */
    bool keep_lost;              /* unmeasured values of prepared rows stay NaN; else they are interpolated */
    /* how rows are continued where their ends were not measured (--pad), for methods that filter */
    qb_pad pad;
    bool slices_are_rows; /* slice i sees detector row row0 + i * row_step and no other */
    /* [slices], owned by the plan: true if nothing that the slice sees was measured; NULL: if slices are rows, the
     * frame takes the unmeasured rows */
    const bool *lost;
    size_t grain;     /* ranks' shares of slices are multiples of this, since such slices depend on each other; 0 = 1 */
    const char *grid; /* --grid: ROWSxCOLUMNS or "auto"; NULL: the method has no grid of ranks */
    size_t view_grain; /* ranks' shares of views are multiples of this; 0 = 1 */
    /* ranks share the views, and each rank gets the whole volume, summed over the views of all ranks */
    bool summed;
    bool shares_slices;   /* `summed`, and each rank gets only its run of the slices, as from qb__cut_column() */
    const char *together; /* why slices cannot be shared among ranks at all; NULL: they can */
    bool resume;          /* resume what an interrupted run of the same job has left */
    double checkpoint;    /* seconds between notes of what is done, for a resumed run; 0 = never */
    double begin_seconds; /* forecast seconds of begin(): search for the axis */
    size_t begin_bytes;   /* bytes that begin() needs; 0: no search */
    /* Bytes that range() needs besides those that the whole job holds, with the chosen kernel. NULL: range() is not
     * called. */
    size_t (*range_bytes)(const void *plan);
    size_t more; /* bytes that the method holds from the beginning of the job to its end */
    /* the input if it is a volume, not a scan; the frame only looks at it and does not close it */
    qb__source *source;
    qb__truncation_check ends; /* rows that should end in air; zeroed: not checked */
    qb__turn_asked turn;       /* the stated positions of the views; zeroed: not checked */
    /* in the plan: column of the axis of a parallel beam, if `turn` has no geometry; NAN until begin() has found it */
    const double *axis;
    bool axis_stated;        /* the column is known before begin() */
    bool axis_found;         /* a finder has found the axis: the frame does not check it */
    qb__levels_asked levels; /* values that the method cannot use; the frame looks for them */
    qb__digest *digest;      /* digest of the input volume, updated while reading, reported as "volume"; NULL: none */
    /* text about the views' angles for the plan; empty: the frame writes the first and last angle of the scan */
    char angles[448];
} qb__decision;

/* The arrays of a transpose. */
typedef struct qb__transposing {
    const float *volume; /* [z][y][x] of the decision's stack; masked voxels are 0 */
    float *lines;        /* [view][row][column] of the scan: the result, zero at first */
    qb__pool *pool;
    const qb_env *env;
    qb__device *device; /* device on which the job was computed; NULL: the CPU */
} qb__transposing;

/* The transpose of a back-projection, view by view on the pool's threads, each with its scratch. */
typedef struct qb__transpose_work {
    void *context;       /* first argument of both functions */
    size_t views, bytes; /* bytes: scratch of a thread */
    size_t block;        /* views between two checks for cancelling */
    /* Spread the volume over a view, and finish the view. */
    void (*spread)(void *context, size_t view, char *scratch);
    /* Filter and weight a view's [row][column] over which a device has spread the volume. */
    void (*finish)(void *context, size_t view, const float *lines, char *scratch);
    const qb__spread_problem *problem; /* for the device of `t`; may be NULL if there is none */
} qb__transpose_work;
/* The device spreads if there is one, its memory suffices and the geometry allows it, else the CPU. */
qb_status qb__transpose_views(const qb__transposing *t, const qb__transpose_work *work);

typedef struct qb__method {
    const char *verb;
    const qb_param *params;           /* table of its options */
    size_t plan_bytes;                /* size of the plan struct; the frame allocates it with zeros */
    const qb__engine *const *engines; /* ends with NULL; engines that answer at the least cost come first */

    /* Decide everything that needs neither an open output nor much memory. Remarks for the plan go into `json`. */
    qb_status (*decide)(const qb__task *task, void *plan, const qb_env *env, cJSON *json, qb__decision *decision);
    /* Add the stages before the engine's, which read the input. Returns their number. */
    int (*stages)(void *plan, const qb__cut *cut, qb__stage *stages);
    void (*release)(void *plan); /* also called for a plan that decide() has not completed */

    /* The following may be NULL. */
    /* Add the method's facts about the job with this cut. The method may use some of the spare memory. */
    void (*facts)(void *plan, const qb__cut *cut, qb__job_facts *facts);
    /* The detector rows that `count` slices from `first` on need. NULL: ranks cannot share the slices. */
    void (*rows)(const void *plan, size_t first, size_t count, size_t *row0, size_t *row1);
    /* Search the scan before preparation, for example for the axis. *anew = true: the result changes the decision, so
     * the frame calls release() and decide() again. */
    qb_status (*begin)(void *plan, const qb_env *env, cJSON *report, bool *anew);
    /* Measure values of the whole scan, after preparation and before streaming. Called on every rank, also on one
     * without slices. */
    qb_status (*measure)(void *plan, const qb__running *run);
    /* Find the range of integers if no option gives it. NULL: an option must give it. */
    qb_status (*range)(void *plan, const qb__running *run, double *low, double *high);
    /* Allocate what the method's own stages need for this cut, before streaming. Called again with a smaller cut if
     * memory was short. */
    qb_status (*open)(void *plan, const qb__cut *cut);
    /* Called after streaming, before the output gets its final name. `set` takes more files that are published together
     * with the output. */
    qb_status (*end)(void *plan, cJSON *report, qb__publication *set, const qb_env *env);
    /* Apply the exact transpose of the linear map from line integrals to the volume. QB_UNSUPPORTED with the reason for
     * options that are not linear. NULL: the method is not linear. */
    qb_status (*transpose)(void *plan, const qb__transposing *t);
    /* Called at the end of every run: release what measure() found and open() allocated. `named`: the output has got
     * its final name. */
    void (*close)(void *plan, bool named);
} qb__method;
