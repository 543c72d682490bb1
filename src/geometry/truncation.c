/* SPDX-License-Identifier: MIT */
#include "geometry/truncation.h"

#include <math.h>

#include "base/memory.h"
#include "base/status.h"
#include "geometry/curve.h"
#include "geometry/circle.h"
#include "geometry/half_fan.h"

/* Distance from the axis of the ray through a place of the middle row, to the side to which columns count up. */
static double lateral(const qb_geometry *g, size_t view, double column) {
    const double *u = g->view[view].u;
    double at[3], along[3];
    qb__pixel_ray(g, view, column, ((double)g->rows - 1) / 2, at, along);
    const double away = (at[0] * along[1] - at[1] * along[0]) / hypot(along[0], along[1]);
    return u[0] * along[1] - u[1] * along[0] < 0 ? -away : away;
}

static bool turns_fully(const qb_geometry *g, qb_status *status) {
    double *radians;
    bool full = false;
    *status = qb__alloc(g->views, sizeof *radians, &radians);
    if (*status != QB_OK) return false;
    for (size_t v = 0; v < g->views; v++) radians[v] = qb__view_angle(g->beam, &g->view[v]);
    *status = qb__turns_fully(g->views, radians, &full, NULL);
    qb__free(radians);
    return full;
}

qb_status qb__truncation_of(const qb_geometry *g, qb__truncation *ends) {
    const double last = (double)g->columns - 0.5, LEVEL = 2.75; /* rows are turned by less than 20 degrees */
    double mean[2] = {0, 0}, most[2] = {0, 0};
    qb_status status = QB_OK;
    *ends = (qb__truncation){.count = {true, true}};
    for (size_t v = 0; v < g->views; v++) {
        const double *u = g->view[v].u, side[2] = {-lateral(g, v, -0.5), lateral(g, v, last)};
        if (!(hypot(u[0], u[1]) > LEVEL * fabs(u[2]))) {
            *ends = (qb__truncation){0};
            return QB_OK;
        }
        for (int i = 0; i < 2; i++) {
            mean[i] += side[i] / (double)g->views;
            most[i] = fmax(most[i], side[i]);
        }
    }
    /* As half fans are told from others: qb__half_fan_of(), qb__cone_weights. */
    const double least = g->beam == QB_BEAM_CONE ? 0.05 : fmax(0.05, 2 / (double)g->columns);
    const bool off = fabs(mean[0] - mean[1]) > least * (mean[0] + mean[1]) && turns_fully(g, &status);
    if (off) ends->count[mean[1] < mean[0]] = false;
    ends->reach = fmax(ends->count[0] ? most[0] : 0, ends->count[1] ? most[1] : 0);
    return status;
}

bool qb__truncation_within(const qb__truncation *ends, const qb_grid *grid, double radius) {
    const double MORE = 1.2; /* from there on most of it has one */
    double reach = radius;
    for (int j = 0; j < 2; j++) reach = fmin(reach, (double)grid->n[j] * grid->voxel[j] / 2 - fabs(grid->offset[j]));
    return reach > MORE * ends->reach;
}
