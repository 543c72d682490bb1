/* SPDX-License-Identifier: MIT */
/* Projection of an array in memory along a geometry in memory. */
#include <string.h>

#include "base/status.h"
#include "geometry/check.h"
#include "io/tensor/tensor.h"
#include "io/tensor/tensor_stack.h"
#include "geometry/grid.h"
#include "recon/project/projection.h"

static const char what[] = "the volume";

/* Options of the scan that the geometry describes. */
static const qb_simulate_options in_memory = {.geometry = "in memory"};

static qb_status take_geometry(qb__projection *p, const qb_geometry *geometry) {
    p->asked = in_memory;
    qb_status status = qb__geometry_copy(geometry, &p->scan.geometry);
    return status == QB_OK ? qb__simulate_adopt(&p->scan, &p->asked) : status;
}

/* Name of an option whose value geometry and volume state already; NULL: none. */
static const char *said_twice(const qb_project_options *o, const qb_grid *grid) {
    return o->views                                    ? "views"
           : o->angles                                 ? "angles"
           : o->detector.count                         ? "detector"
           : o->pixel_size > 0 || o->pixels.count      ? "pixel-size"
           : o->center_offset != 0                     ? "center-offset"
           : o->dataset                                ? "dataset"
           : grid && (o->voxel > 0 || o->voxels.count) ? "voxel"
           : grid && o->offset.count                   ? "offset"
                                                       : NULL;
}

static qb_status take_grid(qb__projection *p, const qb_grid *grid) {
    const qb_project_options *o = p->options;
    const size_t *shape = p->source->shape;
    const size_t n[3] = {shape[2], shape[1], shape[0]};
    const char *twice = said_twice(o, grid);
    const qb_numbers voxels = qb__voxels(o->voxel, &o->voxels);
    if (twice) return qb__fail(QB_BAD_ARGUMENT, "--%s cannot be given with arrays, which state it", twice);
    p->in_mm = true;
    qb_grid_default(&p->scan.geometry, &p->grid);
    if (grid) p->grid = *grid;
    if (grid && memcmp(grid->n, n, sizeof n) != 0)
        return qb__fail(QB_BAD_ARGUMENT, "the grid has %zu x %zu x %zu voxels along z, y and x, the volume is an %s",
                        grid->n[2], grid->n[1], grid->n[0], p->volume);
    memcpy(p->grid.n, n, sizeof n);
    for (int j = 0; j < 3; j++) {
        if (j < voxels.count) p->grid.voxel[j] = voxels.value[j];
        if (j < o->offset.count) p->grid.offset[j] = o->offset.value[j];
    }
    return QB_OK;
}

qb_status qb__projection_take(qb__projection *p, const qb__projection_given *given) {
    QB__OR_RETURN(qb__tensor_open(given->volume, what, QB__MISSING_IMAGE, &p->source));
    QB__OR_RETURN(take_geometry(p, given->geometry));
    return take_grid(p, given->grid);
}

qb_status qb_project_array_plan(const qb_tensor *volume, const qb_grid *grid, const qb_geometry *geometry,
                                const qb_project_options *options, const qb_output_options *output, const char *command,
                                const qb_env *env, qb_job **job) {
    const qb__projection_given given = {.volume = volume, .grid = grid, .geometry = geometry};
    char name[QB__TENSOR_NAME];
    qb__tensor tensor;
    QB__NEED(geometry);
    QB__NEED(job);
    *job = NULL;
    QB__OR_RETURN(qb__tensor_look(volume, what, QB__MISSING_IMAGE, &tensor));
    qb__tensor_name(&tensor, name);
    const qb__request request = {.input = name,
                                 .more = &given,
                                 .read = geometry->read_from,
                                 .options = options,
                                 .output = output,
                                 .command = command ? command : ""};
    return qb__projection_request(&request, env, job);
}
