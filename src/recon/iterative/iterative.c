/* SPDX-License-Identifier: MIT */
/* The part of the methods that all solvers share: the plan, and the engines. */
#include "recon/iterative/iterative.h"

#include <string.h>

#include "base/number.h"
#include "base/status.h"
#include "quickbeam/recon.h"

const qb__engine *const qb__iterative_engines[] = {&qb__iterative_cpu, &qb__iterative_device, NULL};

const qb_solver *qb_solver_list(void) {
#define SOLVER(name, summary, example) {#name, summary},
    static const qb_solver list[] = {QB_SOLVERS(SOLVER){0}};
    return list;
}

qb_status qb__iterative_regularisation(const qb_iterative_options *o, double *lambda, double *weigh_by) {
    static const char *const words[] = {"unweighted", "transmission_root", "transmission"};
    int power = 0;
    char *end;
    *lambda = *weigh_by = 0;
    if (!o->lambda) return QB_OK; /* the options of other solvers have no --lambda */
    if (strcmp(o->lambda, "auto") != 0) {
        *lambda = qb__strtod(o->lambda, &end);
        if (end == o->lambda || *end || !(*lambda > 0 && *lambda <= 1e30))
            return qb__fail(QB_BAD_ARGUMENT, "--lambda %s is neither a number above 0 nor auto", o->lambda);
    }
    while (power < 3 && strcmp(words[power], o->weights) != 0) power++;
    if (power == 3)
        return qb__fail(QB_BAD_ARGUMENT, "--weights %s is none of unweighted, transmission, transmission_root",
                        o->weights);
    *weigh_by = 0.5 * power;
    return QB_OK;
}
