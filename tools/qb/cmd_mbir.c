/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "cli.h"

static bool is_cone(const qb_geometry_options *given, const qb_scan_info *info) {
    if (given->geometry) return strcmp(given->geometry, "parallel") != 0;
    return given->sod > 0 || given->sdd > 0 || (info->beam == QB_BEAM_CONE && (info->geometry_from || info->sod > 0));
}

/* Makes a geometry only for fan and cone beams. A parallel beam takes its angles from the scan and its axis from
 * --center. */
static qb_status make_geometry(cli *c, const qb_scan_info *info, qb_geometry *geometry) {
    const qb_geometry_options *given = &c->options.geometry;
    const qb_detector detector = {
        .rows = info->rows, .columns = info->columns, .pixel_u = info->pixel_size, .pixel_v = info->pixel_v};
    return is_cone(given, info) ? qb_scan_geometry(info, given, &detector, &c->env, geometry) : check_parallel(given);
}

qb_status cmd_mbir(cli *c) {
    qb_scan *scan = NULL;
    qb_job *job = NULL;
    qb_geometry geometry = {0};
    const char *file = c->options.geometry.geometry;
    if (file && strcmp(file, "parallel") != 0 && c->options.scan.angles)
        return complain(QB_BAD_ARGUMENT, "--geometry %s states the angles: leave out --angles", file);
    qb_status status = open_scan(c, &scan);
    if (status != QB_OK) return status;
    qb_mbir_options mbir = c->options.mbir;
    const bool cone = is_cone(&c->options.geometry, qb_scan_describe(scan));
    status = find_offset(c, scan, cone ? mbir.center : NULL);
    if (cone) mbir.center = NULL;
    if (status == QB_OK) status = make_geometry(c, qb_scan_describe(scan), &geometry);
    if (status == QB_OK)
        status = qb_mbir_plan(scan, geometry.views ? &geometry : NULL, &c->options.prep, &mbir, &c->options.output,
                              c->command, &c->env, &job);
    if (status == QB_OK) status = finish_job(c, job, scan, geometry.views ? &geometry : NULL);
    qb_job_destroy(job);
    qb_geometry_destroy(&geometry);
    close_scan(c, scan);
    return status;
}
