/* SPDX-License-Identifier: MIT */
/* Slices beyond the ends of the volume, which rays of a cone cross on their way through it. If the object continues
 * there, its attenuation would otherwise appear in the end slices. They are computed as all others and then discarded.
 * A few are enough: if the object extends farther, the error is in the last of them. */
#include <string.h>

#include "base/memory.h"
#include "geometry/grid.h"
#include "recon/iterative/iterative.h"

bool qb__iterative_shares_slices(const qb__iterative *it) { return it->solver->grain > 0 && it->ranks > 1; }

size_t qb__iterative_kept_slices(const qb__iterative *it) { return it->grid.n[2] - it->beyond[0] - it->beyond[1]; }

size_t qb__iterative_kept(const qb__iterative *it) {
    return it->grid.n[0] * it->grid.n[1] * qb__iterative_kept_slices(it);
}

void qb__iterative_find_beyond(const qb__iterative *it, const qb_grid *asked, size_t beyond[2]) {
    enum {
        FEW = 4,
        PART = 32
    }; /* two slices were as good as all that rays cross for 64^3 voxels, four nearly so for 128^3 */
    const size_t most = qb__larger(FEW, asked->n[2] / PART);
    beyond[0] = beyond[1] = 0;
    if (it->alone) return;
    qb__grid_overhang(it->geometry, asked, beyond);
    for (int i = 0; i < 2; i++) beyond[i] = qb__smaller(beyond[i], most);
}

const float *qb__iterative_slice_of(const qb__iterative *it, const float *numbers, size_t z) {
    const size_t first = it->beyond[0], slices = qb__iterative_kept_slices(it);
    const size_t kept = z < first ? 0 : qb__smaller(z - first, slices - 1);
    return numbers + kept * it->grid.n[0] * it->grid.n[1];
}

bool qb__iterative_is_beyond(const qb__iterative *it, size_t z) {
    return z < it->beyond[0] || z >= it->grid.n[2] - it->beyond[1];
}

void qb__iterative_keep(const qb__iterative *it, float *volume) {
    const size_t slice = it->grid.n[0] * it->grid.n[1];
    if (it->beyond[0]) memmove(volume, volume + it->beyond[0] * slice, qb__iterative_kept(it) * sizeof *volume);
}
