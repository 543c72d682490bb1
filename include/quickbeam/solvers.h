/* SPDX-License-Identifier: MIT */
#ifndef QUICKBEAM_SOLVERS_H
#define QUICKBEAM_SOLVERS_H

#include "quickbeam/param.h"
#include "quickbeam/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The iterative solvers: name, what it is, options for an example. All that bears a solver's name comes from this
 * table: the command's verb, the calls qb_NAME (simple.h) and qb_NAME_plan (recon.h), the options qb_NAME_params and
 * the call in Python. */
#define QB_SOLVERS(ROW)                                                                                                \
    ROW(sirt, "least squares, iteratively: simultaneous iterative reconstruction", "--iterations 200")                 \
    ROW(cgls, "least squares, iteratively: conjugate gradients", "--iterations 20")                                    \
    ROW(tv, "least squares and total variation: few or noisy views of objects of few materials", "--nonneg")

/* Least squares on the projector pair (quickbeam/project.h): the volume whose line integrals differ
 * least from the measured ones, by SIRT or CGLS, where stopping early regularises; or by TV, which also keeps the total
 * variation small. Zero, no numbers or NULL: the default named. */
typedef struct qb_iterative_options {
    size_t struct_size;  /* see qb_params_init */
    int iterations;      /* largest number of iterations; default 100 for SIRT, 20 for CGLS, 300 for TV */
    double tolerance;    /* stop once |x' - x| / |x'| is less; 0 = never */
    bool nonneg;         /* no value below zero */
    const char *center;  /* rotation axis, as center of qb_fbp_options; for a parallel beam */
    qb_numbers size;     /* NX,NY,NZ; default: columns, columns, rows */
    double voxel;        /* mm; default: pixel / magnification */
    qb_numbers offset;   /* X,Y,Z mm */
    const char *like;    /* the grid of this volume file instead of the three; NULL = unset */
    double hu;           /* attenuation of water in 1/mm; 0 = no Hounsfield units */
    const char *kernel;  /* a projection variant's id; NULL = the planner chooses */
    double relaxation;   /* SIRT: how much of each update is taken, at most 1.9; 0 = 1 */
    qb_numbers voxels;   /* mm along X,Y,Z, or one number for all, in place of voxel */
    const char *lambda;  /* TV: weight of the variation in mm, or "auto" (default): from the noise */
    const char *weights; /* TV: unweighted, transmission (default) or transmission_root */
    double gap; /* TV: stop once the primal-dual gap is this part of the objective; 0 = 1e-3, QB_ZERO = never */
} qb_iterative_options;

#define QB_SOLVER_PARAMS(name, summary, example) QB_API extern const qb_param qb_##name##_params[];
QB_SOLVERS(QB_SOLVER_PARAMS)
#undef QB_SOLVER_PARAMS

/* QB_SOLVERS of the library that runs; the last row has no name. */
typedef struct qb_solver {
    const char *name, *summary;
} qb_solver;
QB_API const qb_solver *qb_solver_list(void);

#ifdef __cplusplus
}
#endif
#endif
