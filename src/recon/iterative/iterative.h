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
    qb_grid grid;
    qb_projector *projector;
    /* of the cut in hand */
    qb__cut cut;
} qb__iterative;

size_t qb__iterative_unknowns(const qb__iterative *it);
size_t qb__iterative_equations(const qb__iterative *it);

/* ---- rows of the methods' tables ---- */

qb_status qb__iterative_decide(const qb__solver *solver, const qb__task *task, void *plan,
                               const qb_env *env, cJSON *json, qb__decision *decision);
qb_status qb__iterative_begin(void *plan, const qb_env *env, cJSON *report, bool *anew);
void qb__iterative_describe(const void *plan, const qb__cut *cut, cJSON *json);
void qb__iterative_release(void *plan);
int qb__iterative_stages(void *plan, const qb__cut *cut, qb__stage *stages);
qb_status qb__iterative_open(void *plan, const qb__cut *cut);

extern const qb__engine qb__iterative_cpu;

#endif
