/* SPDX-License-Identifier: MIT */
/* The geometry of a scan. */
#include "base/log.h"
#include "base/status.h"
#include "quickbeam/scan.h"

/* Of a view for each stored one, those that the scan has. */
static qb_status choose_views(const qb_scan_info *scan, const char *path, const qb_env *env,
                              qb_geometry *geometry) {
    if (geometry->views == scan->views) return QB_OK;
    if (geometry->views != scan->stored)
        return qb__fail(QB_BAD_INPUT, "%s has %zu views, the projections are %zu%s", path,
                        geometry->views, scan->views,
                        scan->stored != scan->views ? " (and more in the file)" : "");
    qb__info(env, "--views chooses %zu of the %zu views of %s too", scan->views, geometry->views,
             path);
    for (size_t i = 0; i < scan->views; i++)
        geometry->view[i] = geometry->view[scan->first_view + i * scan->view_step];
    geometry->views = scan->views;
    return QB_OK;
}

qb_status qb_scan_geometry(const qb_scan_info *scan, const qb_geometry_options *options,
                           const qb_detector *detector, const qb_env *env, qb_geometry *geometry) {
    const char *path = options->geometry;
    *geometry = (qb_geometry){0};
    if (!path && !scan->angles)
        return qb__fail(QB_BAD_INPUT, "%s has no angles: give --angles, or --geometry FILE",
                        scan->path);
    if (!path) return qb_geometry_make(options, scan->views, scan->angles, detector, env, geometry);
    qb_status status = qb_geometry_make(options, 0, NULL, detector, env, geometry);
    if (status == QB_OK) status = choose_views(scan, path, env, geometry);
    if (status != QB_OK) qb_geometry_destroy(geometry);
    return status;
}
