/* SPDX-License-Identifier: MIT */
#ifndef QB_RECON_ITERATIVE_ITERATIVE_H
#define QB_RECON_ITERATIVE_ITERATIVE_H

#include "dist/nccl.h"
#include "quickbeam/project.h"
#include "recon/iterative/solver.h"
#include "recon/reconstruction.h"

/* A least-squares reconstruction. All line integrals are held in memory; the chunk of the last block of views solves
 * for the volume. */
struct qb__iterative_run;

typedef struct qb__iterative {
    /* decided by iterative_plan.c; only read afterwards */
    const qb__solver *solver;
    qb_scan *scan;
    const qb_scan_info *info;
    const qb_iterative_options *options;
    const qb_prep_options *prep;
    qb_geometry own;             /* geometry of a parallel beam, made here */
    const qb_geometry *geometry; /* &own, or the caller's */
    qb_geometry ordered;         /* the views in the order of the solver's subsets */
    const qb_geometry *rays;     /* what is projected along: geometry, or &ordered */
    size_t *order, *place;       /* [views] ordered view -> view of the scan, and back; NULL: they are the same */
    size_t *subset, *all_subset, subsets; /* same meaning as in qb__linear */
    const qb__solve_model *model;         /* MBIR's; set before the solver runs */
    size_t more_unknowns, more_lines;     /* vectors that it holds besides the solver's */
    /* writes the report; NULL: the standard report */
    void (*report)(const struct qb__iterative_run *r, cJSON *convergence);
    /* Keeps the state of the solver; set before it runs. NULL: nothing is kept. */
    void (*keeper)(struct qb__iterative_run *r, const qb__linear *a, qb__solve_keep *keep);
    double center;      /* column of the axis of a parallel beam; NAN = not found yet */
    double found;       /* found by begin(); NAN = not searched */
    bool looked;        /* begin() has run */
    size_t ranks, rank; /* ranks that share the views; this one */
    size_t view_grain;  /* a rank's views are a multiple of this */
    qb_grid grid;       /* grid of the unknowns, which may be higher than `asked` */
    qb_grid asked;      /* grid of the volume that is kept */
    size_t beyond[2];   /* slices of `grid` before and after `asked` */
    bool alone;         /* the grid gets no slices beyond the volume; set before the grid is decided */
    bool *lost;         /* [slices that are kept] true if hardly any ray measured the slice; NULL: no such slice */
    qb_projector *projector;
    /* the current cut of the work */
    qb__cut cut;
} qb__iterative;

/* Let the views come in subsets (iterative_subsets.c), of at least so many views each. */
qb_status qb__iterative_order(qb__iterative *it, size_t least);
/* A host's [view][row][column] of the whole scan: where the numbers of this rank's view are. */
const float *qb__iterative_view_of(const qb__iterative *it, const float *numbers, size_t view);
/* Pairs of forward and adjoint, for forecasts. */
double qb__iterative_passes(const qb__iterative *it);

/* Slices beyond the ends of the volume (iterative_beyond.c): how many; what is kept; of a host's [z][y][x] of what is
 * kept the slice that stands for slice z; whether that lies beyond; the slices that are kept moved to the front. */
void qb__iterative_find_beyond(const qb__iterative *it, const qb_grid *asked, size_t beyond[2]);
size_t qb__iterative_kept_slices(const qb__iterative *it);
size_t qb__iterative_kept(const qb__iterative *it);
const float *qb__iterative_slice_of(const qb__iterative *it, const float *numbers, size_t z);
bool qb__iterative_is_beyond(const qb__iterative *it, size_t z);
void qb__iterative_keep(const qb__iterative *it, float *volume);
qb_status qb__iterative_find_lost(qb__iterative *it);

size_t qb__iterative_unknowns(const qb__iterative *it);
size_t qb__iterative_equations(const qb__iterative *it);
double qb__iterative_crossing(const qb__iterative *it); /* same meaning as in qb__linear.crossing */
/* Vectors of equations that the solver holds besides the data; of unknowns besides the volume. */
size_t qb__iterative_unknown_vectors(const qb__iterative *it);
size_t qb__iterative_line_vectors(const qb__iterative *it);
/* Line integrals that a rank has room for, and its own views, which may be none. */
size_t qb__iterative_lines(const qb__iterative *it, const qb__cut *cut);
size_t qb__iterative_views(const qb__iterative *it, const qb__cut *cut);

/* ---- rows of the methods' tables ---- */

qb_status qb__iterative_decide(const qb__solver *solver, const qb__task *task, void *plan, const qb_env *env,
                               cJSON *json, qb__decision *decision);
qb_status qb__iterative_begin(void *plan, const qb_env *env, cJSON *report, bool *anew);
void qb__iterative_facts(void *plan, const qb__cut *cut, qb__job_facts *facts);
void qb__iterative_release(void *plan);
int qb__iterative_stages(void *plan, const qb__cut *cut, qb__stage *stages);
qb_status qb__iterative_open(void *plan, const qb__cut *cut);

/* --lambda and --weights as numbers: 0 for "auto"; the power of the transmission. QB_BAD_ARGUMENT for other words. */
qb_status qb__iterative_regularisation(const qb_iterative_options *options, double *lambda, double *weigh_by);

/* State of an engine while it runs (iterative_prepare.c). */
typedef struct qb__iterative_run {
    const qb__iterative *it;
    const qb__running *run;
    const float *lines; /* lines to solve for, in the order of `rays` */
    qb__solved solved;
    uint64_t lost;  /* number of unmeasured line integrals of this rank */
    double outside; /* share of the sum of line integrals on rays that meet no voxel; 0: too little to matter */
    /* buffers for ranks (iterative_ranks.c) */
    double *numbers;              /* [ranks] */
    void *come, *gone;            /* a run of the volume, received from the previous rank, and sent to the next one */
    qb__comm_part *parts;         /* [2 * ranks] */
    qb__nccl *nccl;               /* carries the runs from device to device; NULL: the hosts do */
    bool told;                    /* who carries them; all have joined */
    char carrier[QB__NCCL_WORDS]; /* why the hosts carry the runs; empty: one process, or the devices carry them */
} qb__iterative_run;

/* The space of cuts: the whole volume at once. `r` must be the beginning of the engine's state. The callbacks are not
 * set. */
qb__cut_space qb__iterative_space(const qb__iterative_run *r, qb__room cap);
/* Blocks of views become one buffer of all line integrals, float [view][row][column]. */
qb__stage qb__iterative_prepare_stage(qb__iterative_run *r, const qb__cut *cut);
/* Warn if the object reaches beyond the volume, from this rank's prepared views (iterative_truncation.c). Collective
 * over all ranks. */
qb_status qb__iterative_find_truncation(qb__iterative_run *r, size_t views, const float *lines);
void qb__iterative_note_truncation(const qb__iterative_run *r, cJSON *convergence);
/* The system of equations of `views` views. `calls` has the engine's; forward, adjoint and `self` are those of
 * qb__linear. */
qb__linear qb__iterative_linear(const qb__iterative *it, size_t views, const qb__linear *calls);
/* Replace NaN in the line integrals of `views` views by the value of qb__linear.holes. */
qb_status qb__iterative_fill_masked(qb__iterative_run *r, size_t views, float *lines);
/* Scale rows that see only a part of an end slice by that part (iterative_ends.c). */
void qb__iterative_scale_ends(const qb__iterative *it, size_t views, float *lines);
/* Solve for the volume. Both are vectors; the volume must be zero. */
qb_status qb__iterative_solve(qb__iterative_run *r, const qb__linear *a, const qb__vectors *vectors, void *data,
                              void *volume);
/* As qb__iterative_solve and qb__linear.load, with vectors in host memory and on the projector's threads; and the bytes
 * that this allocates. */
qb_status qb__iterative_solve_here(qb__iterative_run *r, const qb__linear *a, float *data, float *volume);
qb_status qb__iterative_load_here(const qb__iterative *it, size_t views, qb__vector_kind kind, const float *numbers,
                                  bool only_kept, float *vector);
size_t qb__iterative_here_bytes(const qb__iterative *it, const qb__cut *cut);
qb_status qb__iterative_report(const qb__iterative_run *r, cJSON *report, qb__prep_counts *counts);
void qb__iterative_forget(qb__iterative_run *r);

/* Ranks that share the views pass the volume on in runs (iterative_ranks.c): what an engine does with one run. */
typedef struct qb__iterative_runs {
    void *self;
    size_t count;
    size_t (*bytes)(void *self, size_t run);                    /* bytes of a run */
    qb_status (*add)(void *self, size_t run, bool first);       /* add A' y of this rank's views; `first`: to zero */
    qb_status (*take)(void *self, size_t run, void *to);        /* copy the run out of the volume */
    qb_status (*put)(void *self, size_t run, const void *from); /* copy the run into the volume */
    /* Of a device: where a run lies in the volume, whose runs lie one behind another. */
    qb__queue *queue;
    qb__memory *volume;
    size_t (*at)(void *self, size_t run);
} qb__iterative_runs;

/* A good number of runs, at most `most`. */
size_t qb__iterative_run_count(const qb__iterative *it, size_t most);
/* The calls below do nothing for a single rank. Bytes of their buffers for a largest run of `run_bytes`. */
size_t qb__iterative_share_bytes(const qb__iterative *it, size_t run_bytes);
/* Allocate the buffers, once r->run is set; qb__iterative_forget() releases them. */
qb_status qb__iterative_share(qb__iterative_run *r, size_t run_bytes);
/* Let the ranks' devices carry them, where there is enough to carry, and they can; and the end of that, with the queue
 * empty. `status`: this rank's so far. */
qb_status qb__iterative_connect(qb__iterative_run *r, qb__device *device);
void qb__iterative_disconnect(qb__iterative_run *r, qb_status status);
/* A' y over the views of all ranks, on all ranks. */
qb_status qb__iterative_pass(qb__iterative_run *r, const qb__iterative_runs *runs);
qb_status qb__iterative_total(qb__iterative_run *r, double *sum);   /* sum over all ranks */
qb_status qb__iterative_same(qb__iterative_run *r, double *number); /* the number of rank 0 */
/* Collective: all ranks have finished, or one has failed. As qb__stage.barrier. */
qb_status qb__iterative_barrier(qb__iterative_run *r, qb_status status);

extern const qb__engine qb__iterative_cpu, qb__iterative_device;

/* The engines of all solvers: the CPU and devices. Ends with NULL. */
extern const qb__engine *const qb__iterative_engines[];

#endif
