/* SPDX-License-Identifier: MIT */
/* Divides the views into subsets, each spread over all angles. The views of a subset are consecutive in the new order,
 * so that a solver processes runs of views. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "geometry/check.h"
#include "kernels/project_joseph/project_joseph_device.h"
#include "recon/iterative/iterative.h"

enum { MOST = 16 };

/* Views that are distributed among the subsets: number of views that each subset gets, and that it has so far. */
typedef struct part {
    size_t views, subset[MOST], filled[MOST];
} part;

/* Set the sizes of the subsets: multiples of `grain`, as equal as possible; the last may end with a part of a grain. */
static void cut(part *p, size_t grain, size_t subsets) {
    const size_t grains = qb__ceil_div(p->views, grain);
    for (size_t i = 0, first = 0; i < subsets; i++) {
        const size_t end = qb__smaller((i + 1) * grains / subsets * grain, p->views);
        p->subset[i] = end - first;
        first = end;
    }
}

/* The i-th number of 0 .. count - 1 (count is a power of two), in an order that begins with the most distant ones: 0,
 * 1/2, 1/4, 3/4, ... */
static size_t turned(size_t i, size_t count) {
    size_t out = 0;
    for (size_t bit = 1; bit < count; bit *= 2, i /= 2) out = 2 * out + i % 2;
    return out;
}

/* The subset for the next view: the one that is farthest below its share; among equals, the next one by turned(). So
 * the union of two neighbouring subsets is spread over all angles, too. */
static size_t lagging(const part *p, size_t subsets, size_t view) {
    size_t best = 0;
    double most = -INFINITY;
    for (size_t i = 0; i < subsets; i++) {
        const size_t at = turned(i, subsets);
        const double share = (double)p->subset[at] / (double)p->views;
        const double lag = share * (double)(view + 1) - (double)p->filled[at];
        if (p->filled[at] < p->subset[at] && lag > most + 1e-9) {
            most = lag;
            best = at;
        }
    }
    return best;
}

/* Smallest number of views in a subset. With fewer views than an eighth of the voxels across, the cycle is far from the
 * minimum; 32 views are enough for any number of voxels. If a subset is as large as a device's block of views, it
 * consists of whole blocks. */
static size_t grain_of(const qb__iterative *it, size_t least) {
    const size_t across = qb__larger(it->grid.n[0], it->grid.n[1]);
    const size_t views = qb__larger(least, qb__smaller(across / 8, QB__JOSEPH_VIEWS));
    if (views > QB__JOSEPH_VIEWS / 2) return qb__round_up(views, QB__JOSEPH_VIEWS);
    size_t grain = 1;
    while (grain < views) grain *= 2;
    return grain;
}

/* Set subset_of[view], the sizes of the subsets, and the views that each rank has of them. */
static void deal(qb__iterative *it, size_t grain, size_t *subset_of) {
    part p = {.views = it->info->views};
    cut(&p, grain, it->subsets);
    memcpy(it->all_subset, p.subset, it->subsets * sizeof *it->all_subset);
    memset(it->shares, 0, it->subsets * it->ranks * sizeof *it->shares);
    for (size_t view = 0; view < p.views; view++) {
        subset_of[view] = lagging(&p, it->subsets, view);
        p.filled[subset_of[view]]++;
    }
    for (size_t rank = 0, first, count; rank < it->ranks; rank++) {
        qb__cut_rank(p.views, it->view_grain, (int)it->ranks, (int)rank, &first, &count);
        for (size_t view = first; view < first + count; view++) it->shares[subset_of[view] * it->ranks + rank]++;
    }
    for (size_t i = 0; i < it->subsets; i++) it->subset[i] = it->shares[i * it->ranks + it->rank];
}

/* Set the order of the views: subset by subset, each in the order of the scan. So a rank's views of a subset are
 * consecutive. */
static void place(qb__iterative *it, const size_t *subset_of) {
    size_t first, count;
    qb__cut_rank(it->info->views, it->view_grain, (int)it->ranks, (int)it->rank, &first, &count);
    for (size_t i = 0, at = 0, own = 0; i < it->subsets; i++) {
        for (size_t view = 0; view < it->info->views; view++) {
            if (subset_of[view] != i) continue;
            it->ordered.view[at++] = it->geometry->view[view];
            if (view < first || view >= first + count) continue;
            it->place[view] = own;
            it->order[own++] = view;
        }
    }
}

qb_status qb__iterative_order(qb__iterative *it, size_t least) {
    const size_t views = it->info->views, grain = grain_of(it, least);
    size_t *subset_of = NULL;
    qb_status status;
    it->rays = it->geometry;
    it->subsets = 1;
    while (2 * it->subsets <= MOST && 2 * it->subsets * grain <= views) it->subsets *= 2;
    QB__TRY(qb__alloc(it->subsets, sizeof *it->subset, &it->subset));
    QB__TRY(qb__alloc(it->subsets, sizeof *it->all_subset, &it->all_subset));
    QB__TRY(qb__alloc(it->subsets * it->ranks, sizeof *it->shares, &it->shares));
    QB__TRY(qb__alloc(views, sizeof *it->order, &it->order));
    QB__TRY(qb__alloc(views, sizeof *it->place, &it->place));
    QB__TRY(qb__alloc(views, sizeof *subset_of, &subset_of));
    QB__TRY(qb__geometry_copy(it->geometry, &it->ordered));
    deal(it, grain, subset_of);
    place(it, subset_of);
    it->rays = &it->ordered;
out:
    qb__free(subset_of);
    return status;
}

size_t qb__iterative_scan_view(const qb__iterative *it, size_t view) {
    return it->order ? it->order[view] : it->cut.all_views.first + view;
}

const float *qb__iterative_view_of(const qb__iterative *it, const float *numbers, size_t view) {
    return numbers + qb__iterative_scan_view(it, view) * it->info->rows * it->info->columns;
}
