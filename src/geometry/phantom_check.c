/* SPDX-License-Identifier: MIT */

#include "base/status.h"
#include "geometry/phantom.h"
#include "geometry/vector.h"

/* A source outside the phantom's ball: its rays meet the phantom only in front of the source if they run towards the
 * phantom's centre. All pixels lie between the corners. */
static bool looks_away(const qb_geometry *g, const qb_view *view) {
    for (int corner = 0; corner < 4; corner++) {
        double ray[3], column = corner & 1 ? (double)g->columns - 1 : 0;
        double row = corner & 2 ? (double)g->rows - 1 : 0;
        for (int j = 0; j < 3; j++)
            ray[j] = view->detector[j] + column * view->u[j] + row * view->v[j] - view->source[j];
        if (!(qb__dot(ray, view->source) < 0)) return true;
    }
    return false;
}

qb_status qb__phantom_check_sources(const qb__phantom *phantom, const qb_geometry *g) {
    const double reach = qb__phantom_reach(phantom);
    for (size_t i = 0; i < g->views && g->beam == QB_BEAM_CONE; i++) {
        const qb_view *view = &g->view[i];
        const double away = hypot(view->source[0], view->source[1]);
        if (!(reach < away))
            return qb__fail(QB_BAD_INPUT,
                            "view %zu: the source, %.6g mm from the axis, would run through the "
                            "phantom, which reaches %.4g mm: make the phantom smaller by --pixel-size, or --sod larger",
                            i, away, reach);
        if (looks_away(g, view))
            return qb__fail(QB_BAD_INPUT,
                            "view %zu: a ray from the source runs away from the phantom: the "
                            "detector must lie on its other side",
                            i);
    }
    return QB_OK;
}
