/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "cli.h"

/* The beam is a cone where a geometry file or distances are given or the scan states it; otherwise it is parallel. */
static bool is_parallel(const qb_geometry_options *given, const qb_scan_info *info) {
    if (given->geometry) return strcmp(given->geometry, "parallel") == 0;
    return !(given->sod > 0 || given->sdd > 0) && info->beam != QB_BEAM_CONE;
}

qb_status check_parallel(const qb_geometry_options *given) {
    if (!(given->offset || given->radius > 0 || given->tilt.count || given->jitter.count)) return QB_OK;
    return complain(QB_BAD_ARGUMENT, "--detector-offset, --detector-radius, --tilt and --jitter are not of a parallel "
                                     "beam: give -g FILE, or --sod and --sdd");
}

typedef qb_status planner(qb_scan *, const qb_geometry *, const qb_prep_options *, const qb_iterative_options *,
                          const qb_output_options *, const char *, const qb_env *, qb_job **);

#define SOLVER(name, summary, example) {#name, qb_##name##_plan},

static planner *planner_of(const char *name) {
    static const struct {
        const char *name;
        planner *plan;
    } rows[] = {QB_SOLVERS(SOLVER)};
    size_t i = 0;
    while (strcmp(rows[i].name, name) != 0) i++;
    return rows[i].plan;
}

qb_status cmd_iterative(cli *c) {
    qb_scan *scan = NULL;
    qb_job *job = NULL;
    qb_geometry geometry = {0};
    qb_status status = open_scan(c, &scan);
    if (status != QB_OK) return status;
    const qb_scan_info *info = qb_scan_describe(scan);
    const bool parallel = is_parallel(&c->options.geometry, info);
    const qb_detector detector = {
        .rows = info->rows, .columns = info->columns, .pixel_u = info->pixel_size, .pixel_v = info->pixel_v};
    qb_iterative_options solver = c->options.iterative;
    if (!parallel) status = find_offset(c, scan, solver.center), solver.center = NULL;
    if (status == QB_OK && parallel)
        status = check_parallel(&c->options.geometry);
    else if (status == QB_OK)
        status = qb_scan_geometry(info, &c->options.geometry, &detector, &c->env, &geometry);
    if (status == QB_OK)
        status = planner_of(c->verb->name)(scan, parallel ? NULL : &geometry, &c->options.prep, &solver,
                                           &c->options.output, c->command, &c->env, &job);
    if (status == QB_OK) status = finish_job(c, job, scan, parallel ? NULL : &geometry);
    qb_job_destroy(job);
    qb_geometry_destroy(&geometry);
    close_scan(c, scan);
    return status;
}
