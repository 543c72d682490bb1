/* SPDX-License-Identifier: MIT */
#include "recon/ends_asked.h"

#include <math.h>
#include <string.h>

#include "base/number.h"

void qb__ends_ask_pad(const char *filter, qb_pad pad, qb__ends_asked *asked) {
    if (pad == QB_PAD_TAPER || pad == QB_PAD_ELLIPSE || strncmp(filter, "none", 4) == 0) return;
    qb__print(asked->remedy, sizeof asked->remedy, "--pad ellipse");
}

void qb__ends_ask_turn(double covered, qb__ends_asked *asked) {
    if (asked->remedy[0])
        qb__print(asked->remedy, sizeof asked->remedy, "half acquisition needs 360 degrees of views, these cover %.4g", covered);
}

qb_status qb__ends_ask_size(const qb_geometry *geometry, const qb_grid *grid, double radius, qb__ends_asked *asked) {
    const double WIDER = 1.3; /* than what is seen */
    const qb_status status = qb__row_ends_of(geometry, &asked->ends);
    if (status != QB_OK || qb__row_ends_within(&asked->ends, grid, radius)) return status;
    size_t n[2];
    for (int j = 0; j < 2; j++) n[j] = (size_t)ceil(2 * (WIDER * asked->ends.reach + fabs(grid->offset[j])) / grid->voxel[j]);
    qb__print(asked->remedy, sizeof asked->remedy, "--size %zu,%zu%s", n[0], n[1], isfinite(radius) ? " and no --roi" : "");
    return QB_OK;
}
