/* SPDX-License-Identifier: MIT */
#pragma once

#include "dist/nccl.h"
#include "quickbeam/project.h"
#include "recon/iterative/solver.h"
#include "recon/reconstruction.h"

/* An iterative reconstruction. All line integrals are held in memory. The chunk of the last block of views solves for
 * the volume. */
struct qb__iterative_run;

/* A connection of the ranks' devices that has begun: NCCL, or the reason why not. */
typedef struct qb__iterative_link {
    bool begun;
    qb__nccl *nccl;
    char carrier[QB__NCCL_WORDS];
} qb__iterative_link;

typedef struct qb__iterative {
    /* decided by iterative_plan.c, then only read */
    const qb__solver *solver;
    qb_scan *scan;
    const qb_scan_info *info;
    const qb_iterative_options *options;
    const qb_prep_options *prep;
    qb_geometry own;             /* geometry of a parallel beam, made here */
    const qb_geometry *geometry; /* &own, or the caller's */
    qb_geometry ordered;         /* geometry with the views in the order of the solver's subsets */
    const qb_geometry *rays;     /* rays of the projections: `geometry` or &ordered */
    /* [views] order: the views of this rank, in the order of `rays`, as views of the scan; place: the reverse; NULL: the
     * order is the same */
    size_t *order, *place;
    size_t *subset, *all_subset, subsets; /* same meaning as in qb__linear */
    size_t *shares;                       /* [subsets][ranks] number of views of a subset that each rank has */
    const qb__solve_model *model;         /* model of MBIR; set before the solver runs */
    /* vectors of unknowns and of equations that the method holds besides those of the solver */
    size_t more_unknowns, more_lines;
    /* writes the report; NULL: the standard report */
    void (*report)(const struct qb__iterative_run *r, cJSON *convergence);
    /* Set up `keep` so that the solver's state is saved; set before the solver runs. NULL: the state is not saved. */
    void (*keeper)(struct qb__iterative_run *r, const qb__linear *a, qb__solve_keep *keep);
    qb__iterative_link *link; /* begun by the method before the engine opens; NULL: the engine begins it */
    double center;            /* column of the axis of a parallel beam; NAN = not found yet */
    double found;             /* column of the axis that begin() has found; NAN = it did not search */
    bool looked;              /* begin() has run */
    size_t ranks, rank;       /* number of ranks that share the views; number of this rank */
    size_t view_grain;        /* a rank's views are a multiple of this */
    qb_grid asked;            /* grid of the volume that is kept */
    qb_grid whole;            /* the same with slices beyond its ends */
    size_t ends[2];           /* slices of `whole` before and after `asked` */
    qb_grid grid;             /* grid of this rank's unknowns: `whole`, or a part of its slices */
    qb__run slices;           /* slices of `asked` in `grid` */
    size_t beyond[2];         /* slices of `grid` before and after them */
    bool neighbour[2];        /* if ranks share the slices: the slice before or after belongs to another rank */
    bool alone;               /* the grid gets no slices beyond the volume; set before the grid is decided */
    bool *lost; /* [slices that are kept] true if hardly any ray measured the slice; NULL: no such slice */
    qb_projector *projector;
    /* the current cut of the work */
    qb__cut cut;
} qb__iterative;

/* Divide the views into subsets of at least `least` views each (iterative_subsets.c). */
qb_status qb__iterative_order(qb__iterative *it, size_t least);
/* The view of the scan that is view `view` of this rank. */
size_t qb__iterative_scan_view(const qb__iterative *it, size_t view);
/* numbers is [view][row][column] of the whole scan in host memory. Returns the numbers of view `view` of this rank. */
const float *qb__iterative_view_of(const qb__iterative *it, const float *numbers, size_t view);
/* Number of pairs of forward and adjoint that the solver needs, for forecasts. */
double qb__iterative_passes(const qb__iterative *it);

/* Slices beyond the ends of the volume (iterative_beyond.c). find_beyond: how many there are before and after the
 * volume. shares_slices: true if ranks share the slices. kept_slices, kept: number of slices and voxels of this rank that are kept. slice_of: the slice of
 * `numbers`, these slices [z][y][x] in host memory, that stands for slice z of the grid. is_beyond: true if slice z is
 * not kept. keep: move the kept slices to the front of `volume`. */
void qb__iterative_find_beyond(const qb__iterative *it, const qb_grid *asked, size_t beyond[2]);
bool qb__iterative_shares_slices(const qb__iterative *it);
size_t qb__iterative_kept_slices(const qb__iterative *it);
size_t qb__iterative_kept(const qb__iterative *it);
const float *qb__iterative_slice_of(const qb__iterative *it, const float *numbers, size_t z);
bool qb__iterative_is_beyond(const qb__iterative *it, size_t z);
void qb__iterative_keep(const qb__iterative *it, float *volume);
qb_status qb__iterative_find_lost(const qb__iterative *it, bool **lost);

size_t qb__iterative_unknowns(const qb__iterative *it);
size_t qb__iterative_equations(const qb__iterative *it);
double qb__iterative_crossing(const qb__iterative *it); /* same meaning as in qb__linear.crossing */
/* Number of vectors that are held besides the volume (of unknowns), and besides the data (of equations). */
size_t qb__iterative_unknown_vectors(const qb__iterative *it);
size_t qb__iterative_line_vectors(const qb__iterative *it);
/* Number of line integrals for which this rank has memory; and number of its own views, which may be 0. */
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

/* Convert --lambda and --weights to numbers. lambda: 0 for "auto"; weigh_by: the power of the transmission.
 * QB_BAD_ARGUMENT for other words. */
qb_status qb__iterative_regularisation(const qb_iterative_options *options, double *lambda, double *weigh_by);

/* Ranks share the slices (iterative_slices.c). A block of views is projected by all ranks, each through its own slices.
 * Each rank gets its own views of the block from all, and adds them in the order of ranks. For the adjoint all ranks get
 * all views of the block. */
typedef struct qb__iterative_exchange {
    size_t views, piece; /* most views of a block, and of this rank in it; 0: ranks do not share the slices */
    size_t view_bytes, slice_bytes;
    char *block, *received; /* host memory: the block; [ranks] pieces of it */
    char *slice[4];         /* outermost own slices; their neighbours on other ranks */
    /* the same on a device; NULL: none */
    qb__queue *queue;
    qb__memory *device_block, **device_received, *device_slice[4];
    /* Operations of the engine on views first <= v < first + count of `rays`, which the block holds from its beginning:
     * block = A x; x = A' block, or, if `more`, x += A' block. */
    qb_status (*project)(void *self, const void *x, size_t first, size_t count, void *block);
    qb_status (*back)(void *self, const void *block, size_t first, size_t count, bool more, void *x);
} qb__iterative_exchange;

/* State of an engine while it runs (iterative_prepare.c). */
typedef struct qb__iterative_run {
    const qb__iterative *it;
    const qb__running *run;
    const float *lines; /* line integrals to solve for, in the order of `rays` */
    qb__solved solved;
    uint64_t lost;  /* number of unmeasured line integrals of this rank */
    double outside; /* share of the sum of line integrals on rays that meet no voxel; 0: too little to matter */
    const qb__vectors *vectors;      /* while a solver runs */
    qb__iterative_exchange exchange; /* ranks share the slices */
    /* buffers for ranks (iterative_ranks.c) */
    double *numbers; /* [ranks] */
    /* a run of the volume: received from the previous rank; to be sent to the next rank */
    void *received, *sent;
    qb__comm_part *parts;         /* [2 * ranks] */
    qb__nccl *nccl;               /* transfers the runs from device to device; NULL: they pass through the hosts */
    bool told;                    /* all ranks have joined, and the transport of the runs was reported */
    char carrier[QB__NCCL_WORDS]; /* why the runs pass through the hosts; empty: one process, or NCCL transfers them */
} qb__iterative_run;

/* The space of cuts, in which the volume is never divided. `r` must be the first member of the engine's state. The
 * callbacks are not set. */
qb__cut_space qb__iterative_space(const qb__iterative_run *r, qb__room cap);
/* The stage that prepares blocks of views into one buffer of all line integrals, float [view][row][column]. */
qb__stage qb__iterative_prepare_stage(qb__iterative_run *r, const qb__cut *cut);
/* Warn if the object reaches beyond the volume, from this rank's prepared views (iterative_truncation.c). Collective
 * over all ranks. */
qb_status qb__iterative_find_truncation(qb__iterative_run *r, size_t views, const float *lines);
void qb__iterative_note_truncation(const qb__iterative_run *r, cJSON *convergence);
/* The system of equations of `views` views. calls: the functions of the engine, as in qb__linear; forward, adjoint and
 * `self` must be set. */
qb__linear qb__iterative_linear(const qb__iterative *it, size_t views, const qb__linear *calls);
/* Replace NaN in the line integrals of `views` views by the value of qb__linear.holes. */
qb_status qb__iterative_fill_masked(qb__iterative_run *r, size_t views, float *lines);
/* Multiply rows that see only a part of an end slice by that part (iterative_ends.c). */
void qb__iterative_scale_ends(const qb__iterative *it, size_t views, float *lines);
/* Solve for the volume. Both are vectors; the volume must be zero. */
qb_status qb__iterative_solve(qb__iterative_run *r, const qb__linear *a, const qb__vectors *vectors, void *data,
                              void *volume);
/* The same as qb__iterative_solve and qb__linear.load for vectors in host memory, computed by the projector's threads;
 * and the bytes that are allocated for it. */
qb_status qb__iterative_solve_here(qb__iterative_run *r, const qb__linear *a, float *data, float *volume);
qb_status qb__iterative_load_here(const qb__iterative *it, size_t views, qb__vector_kind kind, const float *numbers,
                                  bool only_kept, float *vector);
size_t qb__iterative_here_bytes(const qb__iterative *it, const qb__cut *cut);
qb_status qb__iterative_report(const qb__iterative_run *r, cJSON *report, qb__prep_counts *counts);
void qb__iterative_forget(qb__iterative_run *r);

/* Ranks that share the views pass the volume on in runs (iterative_ranks.c). These are the operations of an engine on
 * one run. */
typedef struct qb__iterative_runs {
    void *self;
    size_t count;
    size_t (*bytes)(void *self, size_t run);                    /* bytes of a run */
    qb_status (*add)(void *self, size_t run, bool first);       /* add A' y of this rank's views; `first`: to zero */
    qb_status (*take)(void *self, size_t run, void *to);        /* copy the run out of the volume */
    qb_status (*put)(void *self, size_t run, const void *from); /* copy the run into the volume */
    /* For devices: `volume` holds the runs one after another, and at() returns the byte where a run begins. */
    qb__queue *queue;
    qb__memory *volume;
    size_t (*at)(void *self, size_t run);
} qb__iterative_runs;

/* Number of runs into which the volume is divided, at most `most`. */
size_t qb__iterative_run_count(const qb__iterative *it, size_t most);
/* The functions below do nothing for a single rank. qb__iterative_share_bytes: bytes of the buffers if the largest run
 * has `run_bytes`. */
size_t qb__iterative_share_bytes(const qb__iterative *it, size_t run_bytes);
/* Allocate the buffers, once r->run is set; qb__iterative_forget() releases them. */
qb_status qb__iterative_share(qb__iterative_run *r, size_t run_bytes);
/* qb__iterative_link_begin: connect the devices if they can be, and if there is enough data; it goes on in the
 * background. Release link->nccl if no engine took it. qb__iterative_connect: the same, or take the method's link.
 * qb__iterative_disconnect ends that; the queue must be empty. status: the status of this rank so far. */
qb_status qb__iterative_link_begin(const qb__iterative *it, qb__comm *comm, qb__device *device,
                                   qb__iterative_link *link);
qb_status qb__iterative_connect(qb__iterative_run *r, qb__device *device);
void qb__iterative_disconnect(qb__iterative_run *r, qb_status status);
/* Compute A' y over the views of all ranks; every rank gets the result. */
qb_status qb__iterative_pass(qb__iterative_run *r, const qb__iterative_runs *runs);
qb_status qb__iterative_total(qb__iterative_run *r, double *sum);   /* replace *sum by the sum over all ranks */
qb_status qb__iterative_same(qb__iterative_run *r, double *number); /* replace *number by that of rank 0 */
/* Wait for NCCL, if it was asked for, and report the transport, once. */
qb_status qb__iterative_join(qb__iterative_run *r);
qb__comm *qb__iterative_others(const qb__iterative_run *r);

/* Ranks share the slices: bytes of the buffers; make them, once r->run and the exchange's sizes and functions are set
 * (device NULL: in host memory only). qb__iterative_forget() releases them. */
void qb__iterative_exchange_sizes(qb__iterative_run *r, size_t view_bytes);
size_t qb__iterative_exchange_bytes(const qb__iterative_run *r);
qb_status qb__iterative_exchange_make(qb__iterative_run *r, qb__device *device, qb__queue *queue);
void qb__iterative_exchange_destroy(qb__iterative_run *r);
/* As in qb__linear; self: an engine's state, which begins with its qb__iterative_run. */
qb_status qb__iterative_forward_slices(void *self, const void *x, size_t first, size_t count, void *y);
qb_status qb__iterative_adjoint_slices(void *self, const void *y, size_t first, size_t count, bool more, void *x);
qb_status qb__iterative_halo(void *self, bool fill, void *x);

/* Collective: wait until all ranks have finished or one has failed. It has the form of qb__stage.barrier. */
qb_status qb__iterative_barrier(qb__iterative_run *r, qb_status status);

extern const qb__engine qb__iterative_cpu, qb__iterative_device;

/* The engines of all solvers: the CPU and devices. Ends with NULL. */
extern const qb__engine *const qb__iterative_engines[];
