/* SPDX-License-Identifier: MIT */
#include "geometry/flat_rays.h"

#include <math.h>

#include "base/memory.h"
#include "geometry/fan.h"

enum { MOST_SLICES = 8 }; /* more slices fill vectors along z */

static bool is_level(double step, const qb_grid *grid) { return fabs(step) <= 1e-9 * grid->voxel[2]; }

static bool view_is_flat(const qb_geometry *g, const qb_grid *grid, size_t view) {
    const qb_view *v = &g->view[view];
    if (v->v[0] != 0 || v->v[1] != 0 || !is_level(v->u[2], grid)) return false;
    if (g->beam == QB_BEAM_PARALLEL) return v->source[2] == 0;
    return g->rows == 1 && is_level(v->detector[2] - v->source[2], grid);
}

static qb__flat_rays rays_of(const qb_geometry *g, const qb_grid *grid, size_t view) {
    const qb__fan fan = qb__fan_of(g, grid, view, 0);
    const qb_view *v = &g->view[view];
    qb__flat_rays rays = {.height = fan.origin[2], .height_step = fan.origin_step[2]};
    for (int j = 0; j < 2; j++) {
        const double step = v->u[j] / grid->voxel[j];
        rays.view.origin[j] = fan.origin[j], rays.view.along[j] = fan.along[j];
        *(g->beam == QB_BEAM_CONE ? &rays.view.along_step[j] : &rays.view.origin_step[j]) = step;
    }
    return rays;
}

bool qb__flat_rows(const qb_geometry *g, const qb_grid *grid, size_t view, double *height, double *step) {
    if (g->radius > 0 || !view_is_flat(g, grid, view)) return false;
    const qb__flat_rays rays = rays_of(g, grid, view);
    *height = rays.height, *step = rays.height_step;
    return true;
}

static double along(const qb__flat_view *v, int axis, double column) {
    return v->along[axis] + column * v->along_step[axis];
}

int qb__flat_axis(const qb__flat_view *v, size_t column) {
    const double alike = 1 + 1e-9, c = (double)column;
    return fabs(along(v, 1, c)) > fabs(along(v, 0, c)) * alike;
}

double qb__flat_place(const qb__flat_view *v, int axis, double c, double plane) {
    const int other = 1 - axis;
    const double slope = along(v, other, c) / along(v, axis, c);
    return v->origin[other] + c * v->origin_step[other] + (plane - v->origin[axis] - c * v->origin_step[axis]) * slope;
}

size_t qb__flat_run(const qb__flat_view *v, size_t c, size_t end, int *axis) {
    *axis = qb__flat_axis(v, c);
    if (v->along_step[0] == 0 && v->along_step[1] == 0) return end;
    while (++c < end && qb__flat_axis(v, c) == *axis) {}
    return c;
}

/* If neighbouring columns keep their order and some distance in the first and the last plane, they do so in all. */
static bool spacing_is_even(const qb__flat_view *v, const qb_grid *grid, size_t columns) {
    for (size_t c = 0, end; c < columns; c = end) {
        int axis;
        end = qb__flat_run(v, c, columns, &axis);
        for (size_t i = c; i + 1 < end; i++) {
            const double last = (double)(grid->n[axis] - 1), at = (double)i;
            const double a = qb__flat_place(v, axis, at + 1, 0) - qb__flat_place(v, axis, at, 0);
            const double b = qb__flat_place(v, axis, at + 1, last) - qb__flat_place(v, axis, at, last);
            if (!(a * b > 0 && fmin(fabs(a), fabs(b)) > 1.0 / 16)) return false;
            if (v->along_step[0] == 0 && v->along_step[1] == 0) break; /* all rays are parallel */
        }
    }
    return true;
}

qb_status qb__flat_rays_of(const qb_geometry *g, const qb_grid *grid, qb__flat_rays **out) {
    *out = NULL;
    if (g->radius > 0 || grid->n[2] > MOST_SLICES) return QB_OK;
    for (size_t view = 0; view < g->views; view++)
        if (!view_is_flat(g, grid, view)) return QB_OK;
    qb__flat_rays *rays;
    const qb_status status = qb__alloc(g->views, sizeof *rays, &rays);
    bool flat = status == QB_OK;
    for (size_t view = 0; flat && view < g->views; view++) {
        rays[view] = rays_of(g, grid, view);
        flat = spacing_is_even(&rays[view].view, grid, g->columns);
    }
    if (flat)
        *out = rays;
    else
        qb__free(rays);
    return status;
}

double qb__flat_length(const qb__flat_view *v, const double voxel[3], size_t column) {
    const double x = along(v, 0, (double)column), y = along(v, 1, (double)column);
    return hypot(x * voxel[0], y * voxel[1]) / fmax(fabs(x), fabs(y));
}

double qb__flat_share(const qb__flat_rays *rays, size_t row, size_t slice) {
    const double off = fabs(rays->height + (double)row * rays->height_step - (double)slice);
    return off < 1 ? 1 - off : 0;
}
