/* SPDX-License-Identifier: MIT */
/* qb mbir: the method's row and its engines. */
#include <math.h>

#include "base/memory.h"
#include "base/params.h"
#include "base/status.h"
#include "geometry/check.h"
#include "geometry/fan.h"
#include "geometry/grid.h"
#include "io/scan/scan.h"
#include "quickbeam/recon.h"
#include "recon/mbir/mbir.h"

/* True if this geometry, with the rows and the extent of the options, is a fan beam. Other errors count as a fan beam
 * and are reported there. */
static bool is_fan(const qb_geometry *geometry, const qb_mbir_options *o) {
    qb__fan_plane plane;
    size_t first = 0;
    qb_grid grid;
    if (qb__geometry_check(geometry) != QB_OK || geometry->beam != QB_BEAM_CONE) return true;
    qb_grid_default(geometry, &grid);
    for (int j = 0; j < 2 && o->size.count; j++) grid.n[j] = (size_t)o->size.value[o->size.count > 1 ? j : 0];
    grid.n[2] = geometry->rows;
    if (o->voxel > 0) grid.voxel[0] = grid.voxel[1] = o->voxel;
    if (qb_grid_slices(o->slices, &grid, &first) != QB_OK) return true;
    if (o->size.count > 2 && o->size.value[2] != (double)grid.n[2]) return false;
    const double side = (double)qb__larger(grid.n[0], grid.n[1]) / 2;
    const double corner = hypot((double)grid.n[0], (double)grid.n[1]) / 2;
    const double reach = o->roi > 0 ? o->roi : grid.voxel[0] * fmin(side, corner);
    const qb_status status = qb__fan_plane_create(geometry, first, first + grid.n[2], reach, &plane);
    qb__fan_plane_destroy(&plane);
    return status != QB_UNSUPPORTED || o->slices;
}

/* True if rays leave their planes, so that coordinate descent by slices is impossible. If a projection kernel is named,
 * a fan or a parallel beam is computed like a cone, too. `geometry` may be NULL: a parallel beam. */
static bool is_any(const qb_geometry *geometry, const qb_mbir_options *options) {
    const char *kernel = options->kernel;
    if (kernel && strncmp(kernel, "project_joseph", 14) == 0) return true;
    if (!geometry) return false;
    if (geometry->beam == QB_BEAM_CONE) return !is_fan(geometry, options);
    for (size_t v = 0; v < geometry->views; v++)
        if (fabs(geometry->view[v].source[2]) > 1e-9) return true;
    return false;
}

static const qb__engine *const engines[] = {&qb__mbir_cpu, &qb__mbir_device, NULL};

static const qb__method method = {
    .verb = "mbir",
    .params = qb_mbir_params,
    .plan_bytes = sizeof(qb__mbir),
    .engines = engines,
    .decide = qb__mbir_decide,
    .stages = qb__mbir_stages,
    .facts = qb__mbir_facts,
    .release = qb__mbir_release,
    .begin = qb__mbir_begin,
    .measure = qb__mbir_measure,
    .rows = qb__mbir_rows,
    .open = qb__mbir_open,
    .close = qb__mbir_close,
};

qb_status qb_mbir_plan(qb_scan *scan, const qb_geometry *geometry, const qb_prep_options *prep,
                       const qb_mbir_options *options, const qb_output_options *output, const char *command,
                       const qb_env *env, qb_job **job) {
    qb_mbir_options view;
    QB__OR_RETURN(qb__params_view(qb_mbir_params, options, &view));
    const bool any = is_any(scan ? qb__scan_views_of(scan, geometry) : NULL, &view);
    return qb__reconstruction_plan_along(any ? &qb__mbir_cone_method : &method, scan, geometry, prep, options, output,
                                         command, env, job);
}
