/* SPDX-License-Identifier: MIT */
/* The part of the methods that all solvers share: the plan, and the engines. */
#include "recon/iterative/iterative.h"

const qb__engine *const qb__iterative_engines[] = {&qb__iterative_cpu, &qb__iterative_device, NULL};

const qb_solver *qb_solver_list(void) {
#define SOLVER(name, summary, example) {#name, summary},
    static const qb_solver list[] = {QB_SOLVERS(SOLVER){0}};
    return list;
}
