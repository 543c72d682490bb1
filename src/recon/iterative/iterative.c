/* SPDX-License-Identifier: MIT */
/* What all solvers share as methods: the plan, and the engines that compute them. */
#include "recon/iterative/iterative.h"

const qb__engine *const qb__iterative_engines[] = {&qb__iterative_cpu, &qb__iterative_device, NULL};

const qb_solver *qb_solver_list(void) {
#define SOLVER(name, summary, example) {#name, summary},
    static const qb_solver list[] = {QB_SOLVERS(SOLVER){0}};
    return list;
}
