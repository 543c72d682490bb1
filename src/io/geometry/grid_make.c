/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stddef.h>

#include "base/params.h"
#include "base/status.h"
#include "geometry/grid.h"
#include "io/formats.h"
#include "quickbeam/geometry.h"

#define FIELD(name) offsetof(qb_grid_options, name)
const qb_param qb_grid_params[] = {
    {"size", QB_PARAM_NUMBERS, FIELD(size), "NX[,NY[,NZ]]", NULL, NULL, 1, 65536,
     "voxels of the volume; default: detector columns, columns, rows", 0},
    {"voxel", QB_PARAM_NUMBERS, FIELD(voxels), "MM|X,Y,Z", NULL, NULL, 0, 1e6,
     "voxel in mm, one number or three; default: a detector pixel at the axis", 0},
    {"offset", QB_PARAM_NUMBERS, FIELD(offset), "X,Y,Z", NULL, NULL, -1e9, 1e9,
     "where the middle of the volume lies, in mm", 0},
    {"like", QB_PARAM_TEXT, FIELD(like), "FILE", NULL, NULL, 0, 0, "the same grid as this volume: size, voxel, offset",
     0},
    QB_PARAMS_END(qb_grid_options),
};
#undef FIELD

qb_status qb_grid_load(const char *path, qb_grid *grid) {
    QB__NEED(path);
    QB__NEED(grid);
    qb__source *source;
    qb_status status = qb__source_open(path, NULL, &source);
    if (status != QB_OK) return status;
    for (int i = 0; i < 3 && status == QB_OK; i++) {
        grid->n[i] = source->shape[2 - i];
        grid->voxel[i] = source->voxel[i];
        grid->offset[i] = source->offset[i];
        if (!(grid->voxel[i] > 0 && isfinite(grid->voxel[i]) && isfinite(grid->offset[i])))
            status = qb__fail(QB_BAD_INPUT, "%s does not say how large its voxels are in mm along %c", path, "xyz"[i]);
    }
    if (status == QB_OK && source->turned)
        status =
            qb__fail(QB_UNSUPPORTED,
                     "%s: its axes are turned or mirrored (TransformMatrix, sform); a grid's are x, y and z", path);
    qb__source_close(source);
    return status;
}

static qb_status check(const qb_grid_options *options, const qb_numbers *voxels) {
    const qb_numbers *size = &options->size, *offset = &options->offset;
    const char *also = size->count ? "size" : voxels->count ? "voxel" : offset->count ? "offset" : NULL;
    if (size->count > 3 || offset->count > 3)
        return qb__fail(QB_BAD_ARGUMENT, "--%s takes at most three numbers, not %d",
                        size->count > 3 ? "size" : "offset", size->count > 3 ? size->count : offset->count);
    if (voxels->count == 2 || voxels->count > 3)
        return qb__fail(QB_BAD_ARGUMENT, "--voxel takes one number or three, X,Y,Z, not %d", voxels->count);
    for (int i = 0; i < voxels->count; i++)
        if (!(voxels->value[i] > 0))
            return qb__fail(QB_BAD_ARGUMENT, "--voxel %g: a voxel has a length of more than 0 mm", voxels->value[i]);
    for (int i = 0; i < size->count; i++) {
        if (size->value[i] != floor(size->value[i]))
            return qb__fail(QB_BAD_ARGUMENT, "--size %g is not a whole number", size->value[i]);
    }
    if (options->like && also)
        return qb__fail(QB_BAD_ARGUMENT, "--%s is given, and --like %s states it too: leave one out", also,
                        options->like);
    return QB_OK;
}

static qb_status check_voxels(const qb_numbers *voxels, const qb_grid *grid) {
    qb_status status = QB_OK;
    for (int i = 0; i < voxels->count && status == QB_OK; i++)
        status = qb__voxel_check(voxels->value[i], grid->voxel[i]);
    return status;
}

qb_status qb_grid_make(const qb_grid_options *given, qb_grid *grid) {
    QB__NEED(grid);
    qb_grid_options seen, *options = &seen;
    const qb_numbers *size = &options->size, *offset = &options->offset;
    qb_status status = qb__params_view(qb_grid_params, given, options);
    const qb_numbers voxels = qb__voxels(options->voxel, &options->voxels);
    if (status == QB_OK) status = check(options, &voxels);
    if (status != QB_OK) return status;
    if (options->like) return qb_grid_load(options->like, grid);
    QB__OR_RETURN(check_voxels(&voxels, grid));
    for (int i = 0; i < 3; i++) {
        if (i < size->count) grid->n[i] = (size_t)size->value[i];
        if (voxels.count) grid->voxel[i] = voxels.value[i];
        if (i < offset->count) grid->offset[i] = offset->value[i];
    }
    if (size->count == 1) grid->n[1] = grid->n[0];
    return QB_OK;
}

qb_status qb_grid_slices(const char *slices, qb_grid *grid, size_t *first) {
    QB__NEED(grid);
    size_t end, step;
    QB__OR_RETURN(qb_range_parse(slices, "--slices", grid->n[2], first, &end, &step));
    size_t n = (end - *first + step - 1) / step;
    double middle = (double)*first + 0.5 * (double)((n - 1) * step);
    grid->offset[2] += (middle - 0.5 * ((double)grid->n[2] - 1)) * grid->voxel[2];
    grid->voxel[2] *= (double)step;
    grid->n[2] = n;
    return QB_OK;
}
