/* SPDX-License-Identifier: MIT */
#ifndef QUICKBEAM_SOLVERS_H
#define QUICKBEAM_SOLVERS_H

#include "quickbeam/param.h"
#include "quickbeam/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The iterative solvers: name, description, options for an example. Everything that is named after a solver is made
 * from this table: the verb of the command, the calls qb_NAME (simple.h) and qb_NAME_plan (recon.h), the options
 * qb_NAME_params and the call in Python. */
#define QB_SOLVERS(ROW)                                                                                                \
    ROW(sirt, "least squares, iteratively: simultaneous iterative reconstruction", "--iterations 200")                 \
    ROW(cgls, "least squares, iteratively: conjugate gradients", "--iterations 20")                                    \
    ROW(tv, "least squares and total variation: few or noisy views of objects of few materials", "--nonneg")

/* Least squares with projector and back-projector (quickbeam/project.h): the volume whose line integrals differ least
 * from the measured ones. SIRT and CGLS regularise by early stopping. TV also keeps the total variation small. Zero, an
 * empty list or NULL stands for the default that the comment names. */
typedef struct qb_iterative_options {
    size_t struct_size;  /* see qb_params_init */
    int iterations;      /* largest number of iterations; default 100 for SIRT, 20 for CGLS, 300 for TV */
    double tolerance;    /* stop when |x' - x| / |x'| is smaller; 0 = never */
    bool nonneg;         /* no value below zero */
    const char *center;  /* rotation axis of a parallel beam, as center of qb_fbp_options */
    qb_numbers size;     /* NX,NY,NZ; default: columns, columns, rows */
    double voxel;        /* mm; default: pixel / magnification */
    qb_numbers offset;   /* X,Y,Z mm */
    const char *like;    /* the grid of this volume file, instead of size, voxel and offset; NULL = unset */
    double hu;           /* attenuation of water in 1/mm; 0 = no Hounsfield units */
    const char *kernel;  /* id of a projector variant; NULL = the planner chooses */
    double relaxation;   /* SIRT: fraction of each update that is applied, at most 1.9; 0 = 1 */
    qb_numbers voxels;   /* mm along X,Y,Z, or one number for all; instead of voxel */
    const char *lambda;  /* TV: weight of the variation in mm, or "auto" (default): from the noise of the data */
    const char *weights; /* TV: unweighted, transmission (default) or transmission_root */
    /* TV: stop when the primal-dual gap is at most this fraction of the objective; 0 = 1e-3, QB_ZERO = never */
    double gap;
} qb_iterative_options;

#define QB_SOLVER_PARAMS(name, summary, example) QB_API extern const qb_param qb_##name##_params[];
QB_SOLVERS(QB_SOLVER_PARAMS)
#undef QB_SOLVER_PARAMS

/* The rows of QB_SOLVERS in the library that runs; the last row has no name. */
typedef struct qb_solver {
    const char *name, *summary;
} qb_solver;
QB_API const qb_solver *qb_solver_list(void);

#ifdef __cplusplus
}
#endif
#endif
