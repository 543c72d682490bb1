/* SPDX-License-Identifier: MIT */
/* What all solvers share as methods: the plan, and the engines that compute them. */
#include "base/status.h"
#include "io/scan/scan.h"
#include "recon/iterative/iterative.h"

const qb__engine *const qb__iterative_engines[] = {&qb__iterative_cpu, &qb__iterative_device, NULL};

const qb_solver *qb_solver_list(void) {
#define SOLVER(name, summary, example) {#name, summary},
    static const qb_solver list[] = {QB_SOLVERS(SOLVER){0}};
    return list;
}

qb_status qb__iterative_plan(const qb__method *method, qb_scan *scan, const qb_geometry *geometry,
                             const qb_prep_options *prep, const qb_iterative_options *options,
                             const qb_output_options *output, const char *command, const qb_env *env, qb_job **job) {
    QB__NEED(scan);
    QB__NEED(job);
    geometry = qb__scan_views_of(scan, geometry);
    const qb__request request = {.scan = scan,
                                 .more = geometry,
                                 .read = geometry ? geometry->read_from : NULL,
                                 .prep = prep,
                                 .options = options,
                                 .output = output,
                                 .command = command};
    return qb__reconstruction_plan(method, &request, env, job);
}
