/* SPDX-License-Identifier: MIT */
#include "recon/mbir/mbir_any.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "geometry/check.h"
#include "geometry/fan.h"
#include "geometry/grid.h"

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

bool qb__mbir_is_any(const qb_geometry *geometry, const qb_mbir_options *options) {
    const char *kernel = options->kernel;
    if (kernel && strncmp(kernel, "project_joseph", 14) == 0) return true;
    if (!geometry) return false;
    if (geometry->beam == QB_BEAM_CONE) return !is_fan(geometry, options);
    for (size_t v = 0; v < geometry->views; v++)
        if (fabs(geometry->view[v].source[2]) > 1e-9) return true;
    return false;
}
