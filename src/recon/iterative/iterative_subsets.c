/* SPDX-License-Identifier: MIT */
/* Subsets of the views, each spread over all angles. They lie one behind another, so that a solver takes runs of views. */
#include <math.h>
#include <stdint.h>

#include "base/memory.h"
#include "base/status.h"
#include "geometry/check.h"
#include "kernels/project_joseph/project_joseph_device.h"
#include "recon/iterative/iterative.h"

enum { MOST = 16 };

/* Sizes: whole grains, as even as they can be, but for the last. */
static void cut(qb__iterative *it, size_t grain, size_t subsets) {
    const size_t views = it->info->views, grains = qb__ceil_div(views, grain);
    for (size_t i = 0, first = 0; i < subsets; i++) {
        const size_t end = qb__smaller((i + 1) * grains / subsets * grain, views);
        it->subset[i] = end - first;
        first = end;
    }
}

/* The i-th of `count`, a power of two, when the most distant ones come first: 0, 1/2, 1/4, 3/4, ... */
static size_t turned(size_t i, size_t count) {
    size_t out = 0;
    for (size_t bit = 1; bit < count; bit *= 2, i /= 2) out = 2 * out + i % 2;
    return out;
}

/* View after view goes to the subset that lags the most behind its share; of equals to the next one by turned(). So the union of two
 * subsets side by side is spread, too. */
static size_t lagging(const qb__iterative *it, const size_t *filled, size_t view) {
    size_t best = 0;
    double most = -INFINITY;
    for (size_t i = 0; i < it->subsets; i++) {
        const size_t at = turned(i, it->subsets);
        const double share = (double)it->subset[at] / (double)it->info->views;
        const double lag = share * (double)(view + 1) - (double)filled[at];
        if (filled[at] < it->subset[at] && lag > most + 1e-9) {
            most = lag;
            best = at;
        }
    }
    return best;
}

/* Subsets of fewer views than an eighth of the voxels across lead to cycles that are far from the minimum; with 32 views the cycle is
 * small, however many voxels there are. Those that are no smaller than a block of a device's views consist of such blocks. */
static size_t grain_of(const qb__iterative *it, size_t least) {
    const size_t across = qb__larger(it->grid.n[0], it->grid.n[1]);
    const size_t views = qb__larger(least, qb__smaller(across / 8, QB__JOSEPH_VIEWS));
    if (views > QB__JOSEPH_VIEWS / 2) return qb__round_up(views, QB__JOSEPH_VIEWS);
    size_t grain = 1;
    while (grain < views) grain *= 2;
    return grain;
}

qb_status qb__iterative_order(qb__iterative *it, size_t least) {
    const size_t views = it->info->views, grain = grain_of(it, least);
    size_t filled[MOST] = {0}, first[MOST] = {0};
    qb_status status;
    it->rays = it->geometry;
    it->subsets = 1;
    while (2 * it->subsets <= MOST && 2 * it->subsets * grain <= views) it->subsets *= 2;
    QB__TRY(qb__alloc(it->subsets, sizeof *it->subset, &it->subset));
    cut(it, grain, it->subsets);
    if (it->subsets < 2) goto out;
    QB__TRY(qb__alloc(views, sizeof *it->order, &it->order));
    QB__TRY(qb__alloc(views, sizeof *it->place, &it->place));
    QB__TRY(qb__geometry_copy(it->geometry, &it->ordered));
    for (size_t i = 1; i < it->subsets; i++) first[i] = first[i - 1] + it->subset[i - 1];
    for (size_t view = 0; view < views; view++) {
        const size_t subset = lagging(it, filled, view), at = first[subset] + filled[subset]++;
        it->order[at] = view;
        it->place[view] = at;
        it->ordered.view[at] = it->geometry->view[view];
    }
    it->rays = &it->ordered;
out:
    return status;
}

const float *qb__iterative_view_of(const qb__iterative *it, const float *numbers, size_t view) {
    const size_t at = it->cut.all_views.first + view;
    return numbers + (it->order ? it->order[at] : at) * it->info->rows * it->info->columns;
}
