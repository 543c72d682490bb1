/* SPDX-License-Identifier: MIT */
#include "recon/truncation_check.h"

#include <math.h>
#include <string.h>

#include "base/number.h"

void qb__truncation_check_pad(const char *filter, qb_pad pad, qb__truncation_check *asked) {
    if (pad == QB_PAD_TAPER || pad == QB_PAD_ELLIPSE || strncmp(filter, "none", 4) == 0) return;
    qb__print(asked->remedy, sizeof asked->remedy, "--pad ellipse");
}

void qb__truncation_check_turn(double covered, qb__truncation_check *asked) {
    if (asked->remedy[0])
        qb__print(asked->remedy, sizeof asked->remedy, "half acquisition needs 360 degrees of views, these cover %.4g",
                  covered);
}

qb_status qb__truncation_check_size(const qb_geometry *geometry, const qb_grid *grid, double radius,
                                    qb__truncation_check *asked) {
    const double WIDER = 1.3; /* than what is seen */
    const qb_status status = qb__truncation_of(geometry, &asked->ends);
    if (status != QB_OK || qb__truncation_within(&asked->ends, grid, radius)) return status;
    size_t n[2];
    for (int j = 0; j < 2; j++)
        n[j] = (size_t)ceil(2 * (WIDER * asked->ends.reach + fabs(grid->offset[j])) / grid->voxel[j]);
    qb__print(asked->remedy, sizeof asked->remedy, "--size %zu,%zu%s", n[0], n[1],
              isfinite(radius) ? " and no --roi" : "");
    return QB_OK;
}

void qb__truncation_check_height(const qb_geometry *geometry, const qb_grid *grid, qb__truncation_check *asked) {
    const double WITHIN = 1.2,
                 TALLER = 1.4; /* than what is seen at the axis: from there on most of it has a place; ... */
    qb_geometry_info info = {.struct_size = sizeof info};
    if (geometry->beam != QB_BEAM_CONE || geometry->rows < 4 || qb_geometry_describe(geometry, &info) != QB_OK) return;
    const double radius = 0.5 * fmax((double)grid->n[0] * grid->voxel[0], (double)grid->n[1] * grid->voxel[1]);
    const double seen =
        0.5 * (double)geometry->rows * info.pixel_v / info.sdd * info.sod; /* and up to the far side of the volume */
    if ((double)grid->n[2] * grid->voxel[2] / 2 - fabs(grid->offset[2]) > WITHIN * seen) return;
    const double reach = fmax(TALLER * seen, 1.1 * seen * (1 + radius / info.sod)) + fabs(grid->offset[2]);
    size_t slices = (size_t)ceil(2 * reach / grid->voxel[2]);
    slices +=
        (slices + geometry->rows) % 2; /* as even or odd as the rows, so that slices lie at rows, not between them */
    qb__print(asked->columns, sizeof asked->columns, "--size %zu,%zu,%zu", grid->n[0], grid->n[1], slices);
}
