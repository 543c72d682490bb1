/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "kernels/project_joseph/project_joseph_flat.h"

/* ---- suitability and parameters ---- */

/* The column of the ray through a point of a slice, as a quotient of two linear functions of x and y, {n0, nx, ny, d0,
 * dx, dy}: the vector from the origin to the point has the direction of the ray. */
static void point_of(const qb__flat_view *v, double p[6]) {
    const double *o = v->origin, *a = v->along, *s = v->origin_step, *t = v->along_step;
    const bool even = t[0] == 0 && t[1] == 0;
    p[0] = o[1] * a[0] - o[0] * a[1], p[1] = a[1], p[2] = -a[0];
    p[3] = even ? s[0] * a[1] - s[1] * a[0] : o[0] * t[1] - o[1] * t[0];
    p[4] = even ? 0 : -t[1], p[5] = even ? 0 : t[0];
    double most = 0;
    for (int i = 0; i < 6; i++) most = fmax(most, fabs(p[i]));
    for (int i = 0; i < 6; i++) p[i] /= most;
}

/* True if a point one voxel outside the grid always has a column; not if a source is that near. */
static bool sees_all(const double p[6], const qb_grid *grid) {
    double low = INFINITY, high = -INFINITY;
    for (int i = 0; i < 4; i++) {
        const double d = p[3] + p[4] * (i & 1 ? (double)grid->n[0] : -1) + p[5] * (i & 2 ? (double)grid->n[1] : -1);
        low = fmin(low, d), high = fmax(high, d);
    }
    const double most = fmax(fabs(low), fabs(high));
    return low * high > 0 && fmin(fabs(low), fabs(high)) > 1e-3 * most;
}

/* The smallest distance of two neighbouring columns of a run anywhere in the grid, including some columns beyond its
 * ends, and the largest movement of a ray per plane. */
typedef struct spacing {
    double gap, slope;
} spacing;

static spacing spacing_of(const qb__flat_view *v, const qb_grid *grid, size_t c0, size_t c1, int axis) {
    const double last = (double)(grid->n[axis] - 1);
    spacing s = {INFINITY, 0};
    const double from = (double)c0 - 3, to = (double)c1 + 3;
    double before = 0, before_end = 0;
    for (double c = from; c < to; c++) {
        const double here = qb__flat_place(v, axis, c, 0), there = qb__flat_place(v, axis, c, last);
        if (c > from) s.gap = fmin(s.gap, fmin(fabs(here - before), fabs(there - before_end)));
        s.slope = fmax(s.slope, fabs(qb__flat_place(v, axis, c, 1) - here));
        before = here, before_end = there;
        if (c > from && v->along_step[0] == 0 && v->along_step[1] == 0) break; /* all rays are parallel */
    }
    return s;
}

const char *qb__joseph_flat_refuses(const qb__joseph_problem *problem, size_t tall, qb__flat_shape *shape) {
    const qb_geometry *g = problem->geometry;
    const double side = (double)(tall > 32 ? tall : 32) + 2;
    const char *why = NULL;
    double gap = INFINITY, room = 0;
    qb__flat_rays *rays;
    if (qb__flat_rays_of(g, problem->grid, &rays) != QB_OK || !rays)
        return "needs few slices, and rays that each stay at one height";
    for (size_t view = 0; view < g->views && !why; view++) {
        const qb__flat_view *v = &rays[view].view;
        double p[6];
        point_of(v, p);
        if (!sees_all(p, problem->grid)) why = "needs the source farther from the volume";
        for (size_t c = 0, end; c < g->columns; c = end) {
            int axis;
            end = qb__flat_run(v, c, g->columns, &axis);
            const spacing s = spacing_of(v, problem->grid, c, end, axis);
            gap = fmin(gap, s.gap);
            room = fmax(room, side * (1 + s.slope) / s.gap);
        }
    }
    qb__free(rays);
    if (why) return why;
    const bool even = g->beam == QB_BEAM_PARALLEL;
    const double reach = fmin(1 / gap, 100) + (even ? 0 : 0.05);
    shape->even = even;
    shape->reach = (float)reach;
    shape->taps = even ? 2 * (int)fmax(1, ceil(reach - 1e-6)) : (int)ceil(2 * reach);
    for (shape->cap = 64; shape->cap < 512 && shape->cap < room + 4 + 2 * shape->taps; shape->cap *= 2) {}
    return shape->taps > 10 || shape->cap < room + 4 + 2 * shape->taps ? "needs fewer columns to a voxel" : NULL;
}

/* ---- records ---- */

static void put(float *at, double value) {
    at[0] = (float)value;
    at[1] = (float)(value - (double)at[0]);
}

static void put_columns(const qb__joseph_problem *p, const qb__flat_view *v, float (*courses)[4], float *lengths) {
    for (size_t c = 0; c < p->columns; c++) {
        const int axis = qb__flat_axis(v, c);
        const double place = qb__flat_place(v, axis, (double)c, 0);
        put(courses[c], place);
        put(courses[c] + 2, (v->along[1 - axis] + (double)c * v->along_step[1 - axis]) /
                                (v->along[axis] + (double)c * v->along_step[axis]));
        lengths[c] = (float)(qb__flat_length(v, p->grid->voxel, c) * (axis ? -1 : 1));
    }
}

static void put_point(const qb__flat_view *v, float to[8]) {
    double p[6];
    int axis = qb__flat_axis(v, 0);
    point_of(v, p);
    for (int i = 0; i < 6; i++) to[i] = (float)p[i];
    const double gap = qb__flat_place(v, axis, 1, 0) - qb__flat_place(v, axis, 0, 0);
    to[6] = (float)gap, to[7] = (float)(1 / gap);
}

static void put_rows(const qb__joseph_problem *p, const qb__flat_rays *rays, float (*heights)[2], int32_t (*spans)[2]) {
    for (size_t z = 0; z < p->grid->n[2]; z++) spans[z][0] = spans[z][1] = 0;
    for (size_t row = 0; row < p->rows; row++) {
        const double height = rays->height + (double)row * rays->height_step;
        const double within = fmin(fmax(height, -2), (double)p->grid->n[2] + 1), below = floor(within);
        heights[row][0] = (float)below, heights[row][1] = (float)(within - below);
        for (size_t z = 0; z < p->grid->n[2]; z++) {
            if (!(qb__flat_share(rays, row, z) > 0)) continue;
            if (spans[z][0] == spans[z][1]) spans[z][0] = (int32_t)row;
            spans[z][1] = (int32_t)row + 1;
        }
    }
}

static void put_runs(const qb__joseph_problem *p, const qb__flat_view *v, size_t view, int32_t (*runs)[4],
                     size_t *count) {
    for (size_t c = 0, end; c < p->columns; c = end) {
        int axis;
        end = qb__flat_run(v, c, p->columns, &axis);
        int32_t *run = runs ? runs[*count] : (int32_t[4]){0};
        run[0] = (int32_t)view, run[1] = axis, run[2] = (int32_t)c, run[3] = (int32_t)end;
        ++*count;
    }
}

qb_status qb__flat_records_make(const qb__joseph_problem *p, qb__flat_records *r) {
    const size_t rays_count = p->views * p->columns, slices = p->grid->n[2];
    qb__flat_rays *rays = NULL;
    size_t runs = 0, at = 0;
    qb_status status;
    memset(r, 0, sizeof *r);
    QB__TRY(qb__flat_rays_of(p->geometry, p->grid, &rays));
    if (!rays) QB__TRY(qb__fail(QB_INTERNAL, "rays that change their height"));
    for (size_t view = 0; view < p->views; view++) put_runs(p, &rays[view].view, view, NULL, &runs);
    QB__TRY(qb__alloc(rays_count, sizeof *r->courses, &r->courses));
    QB__TRY(qb__alloc(rays_count, sizeof *r->lengths, &r->lengths));
    QB__TRY(qb__alloc(p->views, sizeof *r->points, &r->points));
    QB__TRY(qb__alloc(p->views * p->rows, sizeof *r->heights, &r->heights));
    QB__TRY(qb__alloc(p->views * slices, sizeof *r->spans, &r->spans));
    QB__TRY(qb__alloc(runs, sizeof *r->runs, &r->runs));
    QB__TRY(qb__alloc(p->views + 1, sizeof *r->first_run, &r->first_run));
    for (size_t view = 0; view < p->views; view++) {
        const qb__flat_view *v = &rays[view].view;
        put_columns(p, v, r->courses + view * p->columns, r->lengths + view * p->columns);
        put_point(v, r->points[view]);
        put_rows(p, &rays[view], r->heights + view * p->rows, r->spans + view * slices);
        r->first_run[view] = at;
        put_runs(p, v, view, r->runs, &at);
    }
    r->first_run[p->views] = at;
out:
    qb__free(rays);
    if (status != QB_OK) qb__flat_records_destroy(r);
    return status;
}

void qb__flat_records_destroy(qb__flat_records *r) {
    QB__FREE(r->courses, r->lengths, r->points, r->heights, r->spans, r->runs, r->first_run);
    memset(r, 0, sizeof *r);
}
