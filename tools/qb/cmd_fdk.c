/* SPDX-License-Identifier: MIT */
#include "cli.h"

/* The geometry of the scan: a file, or a circle from --sod and --sdd with the scan's own angles. */
static qb_status make_geometry(cli *c, const qb_scan_info *info, qb_geometry *geometry) {
    qb_detector detector = {
        .rows = info->rows, .columns = info->columns, .pixel_u = info->pixel_size, .pixel_v = info->pixel_v};
    return qb_scan_geometry(info, &c->options.geometry, &detector, &c->env, geometry);
}

qb_status cmd_fdk(cli *c) {
    qb_scan *scan = NULL;
    qb_job *job = NULL;
    qb_geometry geometry = {0};
    const char *file = c->options.geometry.geometry;
    if (file && c->options.scan.angles)
        return complain(QB_BAD_ARGUMENT, "--angles besides --geometry %s, which states them", file);
    if (c->options.fdk.cluster && !c->options.run.dry_run)
        return complain(QB_BAD_ARGUMENT, "--cluster is on paper: it belongs to qb plan fdk");
    qb_status status = open_scan(c, &scan);
    if (status != QB_OK) return status;
    status = make_geometry(c, qb_scan_describe(scan), &geometry);
    if (status == QB_OK)
        status = qb_fdk_plan(scan, &geometry, &c->options.prep, &c->options.fdk, &c->options.output, c->command,
                             &c->env, &job);
    if (status == QB_OK) status = finish_job(c, job);
    qb_job_destroy(job);
    qb_geometry_destroy(&geometry);
    qb_scan_close(scan);
    return status;
}
