/* SPDX-License-Identifier: MIT */
#include "geometry/circle.h"

#include <math.h>

#include "base/status.h"
#include "geometry/check.h"
#include "geometry/matrix.h"
#include "geometry/vector.h"

double qb__view_angle(qb_beam beam, const qb_view *view) {
    const double *s = view->source;
    return beam == QB_BEAM_CONE ? atan2(s[0], -s[1]) : atan2(-s[0], s[1]);
}

void qb__view_angles(const qb_geometry *geometry, double *radians) {
    const double turn = 2 * M_PI;
    for (size_t i = 0; i < geometry->views; i++) {
        radians[i] = qb__view_angle(geometry->beam, &geometry->view[i]);
        if (i) radians[i] += turn * round((radians[i - 1] - radians[i]) / turn);
    }
}

void qb__circle_view(const qb__circle *circle, double angle, qb_view *view) {
    double c = cos(angle), s = sin(angle), beyond = circle->sdd - circle->sod;
    double left = -circle->column * circle->pixel_u, down = -circle->row * circle->pixel_v;
    *view = (qb_view){
        .source = {circle->sod * s, -circle->sod * c, 0},
        .detector = {left * c - beyond * s, left * s + beyond * c, down},
        .u = {circle->pixel_u * c, circle->pixel_u * s, 0},
        .v = {0, 0, circle->pixel_v},
    };
    if (circle->beam == QB_BEAM_PARALLEL) view->source[0] = -s, view->source[1] = c;
}

/* The point of the detector's plane that is hit by the perpendicular from the source to the axis, and its distance from
 * the source. */
static void principal(const qb_view *view, qb_beam beam, const qb__matrix *matrix, double *column, double *row,
                      double *sdd) {
    double p[3], z = beam == QB_BEAM_CONE ? view->source[2] : 0;
    qb__matrix_apply(matrix, 0, 0, z, p);
    *column = p[0] / p[2];
    *row = p[1] / p[2];
    double away[3] = {0};
    for (int j = 0; j < 3 && beam == QB_BEAM_CONE; j++)
        away[j] = view->detector[j] + *column * view->u[j] + *row * view->v[j] - view->source[j];
    *sdd = qb__norm(away);
}

static double distance(const qb__matrix *a, const qb__matrix *b, const double at[3]) {
    double p[3], q[3];
    qb__matrix_apply(a, at[0], at[1], at[2], p);
    qb__matrix_apply(b, at[0], at[1], at[2], q);
    return hypot(p[0] / p[2] - q[0] / q[2], p[1] / p[2] - q[1] / q[2]);
}

static double view_error(const qb__circle *circle, const qb_geometry *geometry, size_t i, const qb__matrix *matrix) {
    qb_view ideal;
    qb__matrix reference;
    qb__circle_view(circle, qb__view_angle(geometry->beam, &geometry->view[i]), &ideal);
    if (qb__matrix_of_view(geometry->beam, &ideal, &reference) != QB_OK) return INFINITY;
    double shrink = circle->sod > 0 ? circle->sod / circle->sdd : 1, most = 0;
    double r = 0.5 * (double)geometry->columns * circle->pixel_u * shrink;
    double h = 0.5 * (double)geometry->rows * circle->pixel_v * shrink;
    if (circle->sod > 0) r = fmin(r, 0.4 * circle->sod), h = fmin(h, circle->sod);
    for (int corner = 0; corner < 8; corner++) {
        double at[3] = {corner & 1 ? r : -r, corner & 2 ? r : -r, corner & 4 ? h : -h};
        most = fmax(most, distance(matrix, &reference, at));
    }
    return most;
}

qb_status qb__circle_fit(const qb_geometry *geometry, qb__circle *circle) {
    *circle = (qb__circle){.beam = geometry->beam};
    const qb_status sound = qb__geometry_check(geometry);
    if (sound != QB_OK) return sound;
    double views = (double)geometry->views;
    for (size_t i = 0; i < geometry->views; i++) {
        const qb_view *view = &geometry->view[i];
        qb__matrix matrix;
        double column, row, sdd;
        qb_status status = qb__matrix_of_view(geometry->beam, view, &matrix);
        if (status != QB_OK) return qb__fail_in(status, "view %zu", i);
        principal(view, geometry->beam, &matrix, &column, &row, &sdd);
        circle->column += column / views;
        circle->row += row / views;
        circle->sdd += sdd / views;
        if (geometry->beam == QB_BEAM_CONE) circle->sod += hypot(view->source[0], view->source[1]) / views;
        circle->pixel_u += qb__norm(view->u) / views;
        circle->pixel_v += qb__norm(view->v) / views;
    }
    for (size_t i = 0; i < geometry->views; i++) {
        qb__matrix matrix;
        QB__OR_RETURN(qb__matrix_of_view(geometry->beam, &geometry->view[i], &matrix));
        /* NaN, from a source on the axis or a point at its depth, must not count as a small error. */
        double error = view_error(circle, geometry, i, &matrix);
        if (!(error <= circle->error)) circle->error = isnan(error) ? INFINITY : error;
    }
    return QB_OK;
}

qb_status qb__circle_wander(const qb_geometry *geometry, qb__wander *wander) {
    double low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY}, before[2] = {0};
    *wander = (qb__wander){0};
    for (size_t i = 0; i < geometry->views; i++) {
        qb__matrix matrix;
        double p[3];
        QB__OR_RETURN(qb__matrix_of_view(geometry->beam, &geometry->view[i], &matrix));
        qb__matrix_apply(&matrix, 0, 0, 0, p);
        for (int k = 0; k < 2; k++) {
            const double at = p[k] / p[2];
            low[k] = fmin(low[k], at), high[k] = fmax(high[k], at);
            if (i) wander->step = fmax(wander->step, fabs(at - before[k]));
            before[k] = at;
        }
    }
    wander->columns = high[0] - low[0], wander->rows = high[1] - low[1];
    return QB_OK;
}
