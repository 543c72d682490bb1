/* SPDX-License-Identifier: MIT */
/* The iterative methods: a row for each solver, and the engines that compute them. */
#include "base/status.h"
#include "io/scan/scan.h"
#include "recon/iterative/iterative.h"

static const qb__engine *const engines[] = {&qb__iterative_cpu, &qb__iterative_device, NULL};

static qb_status plan(const qb__method *method, qb_scan *scan, const qb_geometry *geometry, const qb_prep_options *prep,
                      const qb_iterative_options *options, const qb_output_options *output, const char *command,
                      const qb_env *env, qb_job **job) {
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

/* A solver's method and its public call. */
#define SOLVER(name)                                                                                                   \
    static qb_status decide_##name(const qb__task *task, void *plan, const qb_env *env, cJSON *json,                   \
                                   qb__decision *decision) {                                                           \
        return qb__iterative_decide(&qb__solver_##name, task, plan, env, json, decision);                              \
    }                                                                                                                  \
    static const qb__method name##_method = {.verb = #name,                                                            \
                                             .params = qb_##name##_params,                                             \
                                             .options_bytes = sizeof(qb_iterative_options),                            \
                                             .plan_bytes = sizeof(qb__iterative),                                      \
                                             .engines = engines,                                                       \
                                             .decide = decide_##name,                                                  \
                                             .stages = qb__iterative_stages,                                           \
                                             .facts = qb__iterative_facts,                                             \
                                             .release = qb__iterative_release,                                         \
                                             .begin = qb__iterative_begin,                                             \
                                             .open = qb__iterative_open};                                              \
    qb_status qb_##name##_plan(qb_scan *scan, const qb_geometry *geometry, const qb_prep_options *prep,                \
                               const qb_iterative_options *options, const qb_output_options *output,                   \
                               const char *command, const qb_env *env, qb_job **job) {                                 \
        return plan(&name##_method, scan, geometry, prep, options, output, command, env, job);                         \
    }

SOLVER(sirt)
SOLVER(cgls)
SOLVER(tv)
