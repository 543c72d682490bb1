/* SPDX-License-Identifier: MIT */
#ifndef QB_RECON_ITERATIVE_ITERATIVE_H
#define QB_RECON_ITERATIVE_ITERATIVE_H

#include "quickbeam/project.h"
#include "recon/iterative/solver.h"
#include "recon/reconstruction.h"

/* A volume whose line integrals come as near as can be, in the sense of least squares, to those that
 * were measured: all of them are held, and one chunk, the last block of views, makes the volume. */
typedef struct qb__iterative {
    /* decided by iterative_plan.c; only read afterwards */
    const qb__solver *solver;
    qb_scan *scan;
    const qb_scan_info *info;
    const qb_iterative_options *options;
    const qb_prep_options *prep;
    qb_geometry own;             /* of a parallel beam, ... */
    const qb_geometry *geometry; /* ... or the caller's */
    double center;               /* the axis' column of a parallel beam; NAN = yet to be found */
    double found;                /* by begin(); NAN = not */
    bool looked;                 /* begin() has */
    size_t ranks;                /* that share the views, ... */
    size_t view_grain;           /* ... of which they do not part so many */
    qb_grid grid;
    qb_projector *projector;
    /* of the cut in hand */
    qb__cut cut;
} qb__iterative;

size_t qb__iterative_unknowns(const qb__iterative *it);
size_t qb__iterative_equations(const qb__iterative *it);
double qb__iterative_crossing(const qb__iterative *it); /* as qb__linear has it */
/* Vectors of equations that the solver holds besides the data. */
size_t qb__iterative_line_vectors(const qb__iterative *it);
/* Of a rank that shares them: what it has room for, and the views that are its own, none where others have all. */
size_t qb__iterative_lines(const qb__iterative *it, const qb__cut *cut);
size_t qb__iterative_views(const qb__iterative *it, const qb__cut *cut);

/* ---- rows of the methods' tables ---- */

qb_status qb__iterative_decide(const qb__solver *solver, const qb__task *task, void *plan, const qb_env *env,
                               cJSON *json, qb__decision *decision);
qb_status qb__iterative_begin(void *plan, const qb_env *env, cJSON *report, bool *anew);
void qb__iterative_describe(const void *plan, const qb__cut *cut, cJSON *json);
void qb__iterative_release(void *plan);
int qb__iterative_stages(void *plan, const qb__cut *cut, qb__stage *stages);
qb_status qb__iterative_open(void *plan, const qb__cut *cut);

/* --lambda and --weights as numbers: 0 for "auto"; the power of the transmission. QB_BAD_ARGUMENT for other words. */
qb_status qb__iterative_regularisation(const qb_iterative_options *options, double *lambda, double *weigh_by);

/* What an engine has in hand (iterative_prepare.c). */
typedef struct qb__iterative_run {
    const qb__iterative *it;
    const qb__running *run;
    qb__solved solved;
    uint64_t lost;  /* line integrals here that were not measured */
    double outside; /* share of the line integrals that rays have which meet no voxel */
    /* of ranks (iterative_ranks.c) */
    double *numbers;      /* [ranks] */
    void *come, *gone;    /* a run: from the rank before, to the next one */
    qb__comm_part *parts; /* [2 * ranks] */
} qb__iterative_run;

/* All of the volume at once; `r` must be where the engine's state begins. Callbacks are left open. */
qb__cut_space qb__iterative_space(const qb__iterative_run *r, qb__room cap);
/* Blocks of views become one buffer of all line integrals, float [view][row][column]. */
qb__stage qb__iterative_prepare_stage(qb__iterative_run *r, const qb__cut *cut);
/* Of so many views, those of this rank from its first on, as prepare leaves them: warns when the object reaches beyond the volume
 * (iterative_truncation.c). All ranks take part. */
qb_status qb__iterative_find_truncation(qb__iterative_run *r, size_t views, const float *lines);
void qb__iterative_note_truncation(const qb__iterative_run *r, cJSON *convergence);
/* The system of equations of so many views. `self` is what forward and adjoint take; total and same as in qb__linear. */
qb__linear qb__iterative_linear(const qb__iterative *it, void *self, size_t views, qb__linear_apply *forward,
                                qb__linear_apply *adjoint, qb__linear_number *total, qb__linear_number *same);
/* Line integrals of so many views that are NaN are made what qb__linear.holes says. */
qb_status qb__iterative_fill_masked(qb__iterative_run *r, size_t views, float *lines);
/* From data to volume, both vectors; the volume comes in as zeros. */
qb_status qb__iterative_solve(qb__iterative_run *r, const qb__linear *a, const qb__vectors *vectors, void *data,
                              void *volume);
/* The same with vectors in the host's memory, on the projector's threads; bytes of those that it makes. */
qb_status qb__iterative_solve_here(qb__iterative_run *r, const qb__linear *a, float *data, float *volume);
size_t qb__iterative_here_bytes(const qb__iterative *it, const qb__cut *cut);
qb_status qb__iterative_report(const qb__iterative_run *r, cJSON *report, qb__prep_counts *counts);
void qb__iterative_forget(qb__iterative_run *r);

/* Where ranks share the views (iterative_ranks.c), they hand on the volume in runs: what an engine does with one. */
typedef struct qb__iterative_runs {
    void *self;
    size_t count;
    size_t (*bytes)(void *self, size_t run);                    /* as it is handed on */
    qb_status (*add)(void *self, size_t run, bool first);       /* A' y of this rank's views; `first`: to nothing */
    qb_status (*take)(void *self, size_t run, void *to);        /* out of the volume ... */
    qb_status (*put)(void *self, size_t run, const void *from); /* ... and into it */
} qb__iterative_runs;

/* How many runs are good, where they cannot be more than `most`. */
size_t qb__iterative_run_count(const qb__iterative *it, size_t most);
/* Alone the rest does nothing. Bytes that it takes, where the largest run has so many: */
size_t qb__iterative_share_bytes(const qb__iterative *it, size_t run_bytes);
/* Once r->run is set; qb__iterative_forget() releases what it takes. */
qb_status qb__iterative_share(qb__iterative_run *r, size_t run_bytes);
/* A' y of all views, on all ranks. */
qb_status qb__iterative_pass(qb__iterative_run *r, const qb__iterative_runs *runs);
qb_status qb__iterative_total(qb__iterative_run *r, double *sum);   /* of a number of each */
qb_status qb__iterative_same(qb__iterative_run *r, double *number); /* that of the first */
/* All have come to the end, or one has failed: as qb__stage.leave. */
qb_status qb__iterative_barrier(qb__iterative_run *r, qb_status status);

extern const qb__engine qb__iterative_cpu, qb__iterative_device;

#endif
