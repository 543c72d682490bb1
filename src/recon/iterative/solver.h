/* SPDX-License-Identifier: MIT */
#pragma once

#include "cpu/icd/icd.h"
#include "ops/vectors.h"
#include "quickbeam/env.h"
#include "quickbeam/recon.h"

/* Applies the matrix, or its transpose, to a vector. */
typedef qb_status qb__linear_apply(void *self, const void *in, void *out);
typedef qb_status qb__linear_number(void *self, double *number);

/* A least-squares problem: find x with the least |A x - b|. The solver knows A and its transpose only as functions. */
typedef struct qb__linear {
    void *self;
    size_t unknowns, equations;
    size_t kept;     /* unknowns of all ranks that the caller keeps; the others lie beyond the ends of its volume */
    double crossing; /* the least element of A for a ray through the middle of an unknown */
    /* Vectors of ops/vectors.h: y = A x; x = A' y. */
    qb__linear_apply *forward, *adjoint;
    /* Sum of a number over all ranks, if `equations`, and with halo() also `unknowns`, are only this rank's part.
     * adjoint() already includes all ranks. NULL: single rank. */
    qb__linear_number *total;
    /* Make a number that ranks have computed with different rounding the same on all, since they stop by it. NULL:
     * single rank. */
    qb__linear_number *same;
    /* The same operations for views first <= v < first + count of `all_views`. y holds only this rank's part of these
     * views. adjoint_of: x becomes their part of A' y, or, if `more`, is increased by it. */
    size_t views;
    qb_status (*forward_of)(void *self, const void *x, size_t first, size_t count, void *y);
    qb_status (*adjoint_of)(void *self, const void *y, size_t first, size_t count, bool more, void *x);
    /* [subsets] number of views in each subset. The views of a subset are consecutive, and each subset is spread over
     * all angles. NULL, with `subsets` 0: the views are not divided. */
    const size_t *subset;
    size_t subsets;
    /* The same two values for all ranks together, if `equations` are only this rank's part. */
    size_t all_views;
    const size_t *all_subset;
    /* Ranks share the slices. The slices first <= z < end of the unknowns are this rank's; one slice of a neighbour may
     * lie on either side of them, and must be zero when A is applied. halo: copy these slices of x from the neighbours,
     * or, without `fill`, set them to zero. NULL: there are none. */
    size_t own_slices[2];
    qb_status (*halo)(void *self, bool fill, void *x);
    size_t aligned;    /* `first` must be a multiple of this; 0 = 1 */
    size_t most_views; /* the largest number of views that the vector y of forward_of and adjoint_of can hold; 0: all */
    /* Copy numbers from host memory to a vector: [view][row][column] of the whole scan in the scan's order, or a volume
     * [z][y][x] without the slices beyond its ends. Slices beyond the ends become copies of the last slice, or NaN if
     * `only_kept`. A vector of unknowns must not be spilled, and at most one other may be unspilled at that time. */
    qb_status (*load)(void *self, qb__vector_kind kind, const float *numbers, bool only_kept, void *vector);
    const char *kernel; /* name of the kernel */
    bool holes;         /* elements of b that are -0 were not measured and have weight 0; no measured element is -0 */
} qb__linear;

/* The cost that a model-based reconstruction minimises, and its start (solver_mbir.c). Arrays are in host memory; NULL:
 * none. */
typedef struct qb__solve_model {
    qb__icd_prior prior;
    double pull;          /* 1 / sigma_p^2 of a proximal map, which has no prior; else 0 */
    int rule;             /* rule for the weights of rays, a qb__icd_weighting */
    double sigma_y;       /* weights are divided by its square */
    const float *weights; /* weights from a file */
    const float *toward;  /* image of a proximal map */
    const float *start;   /* NULL: `constant` everywhere */
    double constant;
    const float *reference; /* the trace reports the rms distance from this image */
    /* stop once voxels change by less than this share of their mean and the cost is forecast to fall by less */
    double stop;
} qb__solve_model;

/* The state from which an interrupted solver continues. pass() sends all of the state to `piece`, or, with `into`, gets
 * it from there. */
typedef struct qb__solve_state {
    void *self;
    qb_status (*pass)(void *self, bool into, qb__vector_piece piece, void *to);
    int *iterations; /* iterations that are done */
} qb__solve_state;

/* Saves the state, and restores it. Both calls may be slow. */
typedef struct qb__solve_keep {
    void *self;
    qb_status (*resume)(void *self, const qb__solve_state *state, bool *resumed); /* before the first iteration */
    /* called after each iteration except the last */
    void (*passed)(void *self, const qb__solve_state *state);
} qb__solve_keep;

typedef struct qb__solve_options {
    const qb_iterative_options *given; /* all options; an option that only one solver reads has no field here */
    int iterations;
    double tolerance;             /* stop when an iteration changes x by less than this, relative to x; 0 = never */
    double relaxation;            /* SIRT: 0 < relaxation < 2 */
    bool nonneg;                  /* no value below zero */
    double lambda;                /* TV: weight of the variation, in the data's unit; 0 = chosen from the noise */
    double weigh_by;              /* TV: rays weigh their transmission to this power */
    double gap;                   /* TV: stop when the primal-dual gap is this part of the objective; 0 = never */
    const qb__solve_model *model; /* MBIR */
    const qb__solve_keep *keep;   /* MBIR; NULL: nothing is kept */
} qb__solve_options;

/* How one iteration converged. */
typedef struct qb__solve_trace {
    double residual;   /* |A x - b| / |b| before the iteration */
    double change;     /* |x' - x| / |x'| */
    double cost, rmse; /* MBIR: cost before the iteration; rms distance from the reference after it */
    double seconds;    /* MBIR: since the solver began */
} qb__solve_trace;

typedef struct qb__solved {
    int iterations;         /* number of iterations done */
    const char *stopped;    /* the reason: "iterations", "tolerance", "residual is zero" */
    qb__solve_trace *trace; /* [iterations], the caller's memory */
    /* TV, at the end, else NAN: gap = primal-dual gap relative to the objective; lambda = weight of the variation;
     * noise = weighted rms of A x - b; strength = lambda in units of the change that such noise makes in a voxel. */
    double gap, lambda, noise, strength;
    double rest; /* MBIR: forecast of how much the cost will still fall, relative to it */
    double more; /* MBIR: forecast number of iterations until nothing remains of that */
} qb__solved;

/* A solver. x is the start (zeros) and becomes the solution; b is overwritten. `trace` has options->iterations
 * elements. If a value is not finite, or the residual has grown tenfold, the solver fails with QB_INTERNAL and names
 * the iteration: it diverges if scan and geometry do not belong together. */
typedef struct qb__solver {
    const char *name;
    /* Number of vectors that the solver holds besides x and b: of unknowns, and of equations. */
    size_t unknowns, equations;
    size_t equations_nonneg; /* additional vectors with options->nonneg */
    double passes_before,
        passes_each; /* pairs of forward and adjoint before the first iteration, and in each; for forecasts */
    size_t grain;    /* smallest number of views in a subset that the solver uses; 0 = it uses all views at once */
    /* forward and adjoint use at most two vectors of unknowns; the others may be spilled (ops/vectors.h) */
    bool spills;
    /* The end slices of a cone's volume are fixed only by the few rays through them, so the user is warned of an object
     * that continues there. */
    bool loose_ends;
    int usual; /* usual number of iterations of a solver that stops by itself, for forecasts; 0 = options->iterations */
    qb_status (*run)(const qb__linear *a, const qb__solve_options *options, const qb__vectors *v, const qb_env *env,
                     void *b, void *x, qb__solved *solved);
} qb__solver;

#define QB__SOLVER_ROW(name, summary, example) extern const qb__solver qb__solver_##name;
QB_SOLVERS(QB__SOLVER_ROW)
/* Model-based: weighted least squares and a Markov random field (solver_mbir.c). */
extern const qb__solver qb__solver_mbir;

/* ---- for solvers ---- */

void qb__solve_begin(qb__solved *solved);
/* Replace the sum over this rank's equations by the sum over those of all ranks. */
qb_status qb__solve_total(const qb__linear *a, double *sum);
qb_status qb__solve_dot_lines(const qb__linear *a, const qb__vectors *v, const void *x, const void *y, double *sum);
/* Set y = 0 where b marks an unmeasured value. */
void qb__solve_mask(const qb__linear *a, const qb__vectors *v, const void *b, void *y);
/* End an iteration: write it to solved->trace, tell whether it was the last one, and fail if the solver diverges.
 * residual: |A x - b| / |b| before the iteration. */
qb_status qb__solve_note(const qb__linear *a, const qb__solve_options *options, const char *name, const qb__vectors *v,
                         const qb_env *env, double residual, const qb__vector_step *step, qb__solved *solved,
                         bool *last);
