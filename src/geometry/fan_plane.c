/* SPDX-License-Identifier: MIT */
#include "geometry/fan.h"

#include <math.h>

#include "base/memory.h"
#include "base/status.h"
#include "geometry/curve.h"
#include "geometry/check.h"
#include "geometry/circle.h"
#include "geometry/vector.h"

enum { LOOKS = 9 };                                  /* columns of a row that are checked */
static const double stray = 0.5 + 1e-9, lean = 0.05; /* slices, columns */

/* ---- rays ---- */

typedef struct passing {
    /* distance: from the ray to the axis; z: height of the ray there; climb: mm along z per horizontal mm */
    double distance, z, climb;
} passing;

static passing pass(const qb_geometry *g, size_t number, double column, double row) {
    const qb_view *view = &g->view[number];
    double along[3];
    qb__pixel_position(g, number, column, row, along);
    for (int j = 0; j < 3; j++) along[j] -= view->source[j];
    const double level = along[0] * along[0] + along[1] * along[1];
    const double to = -(view->source[0] * along[0] + view->source[1] * along[1]) / level;
    const double across = view->source[0] * along[1] - view->source[1] * along[0];
    return (passing){fabs(across) / sqrt(level), view->source[2] + to * along[2], along[2] / sqrt(level)};
}

static double column_at(const qb_geometry *g, int look) { return (double)(g->columns - 1) * look / (LOOKS - 1); }

/* Mean over all views of where the middle of a row passes the axis. */
static double height_of(const qb_geometry *g, double row) {
    double sum = 0;
    for (size_t v = 0; v < g->views; v++) sum += pass(g, v, (double)(g->columns - 1) / 2, row).z;
    return sum / (double)g->views;
}

/* Largest distance of the rays of a view's row from z = `middle`. */
static double strays(const qb_geometry *g, size_t view, double row, double middle, double radius) {
    double most = 0;
    for (int i = 0; i < LOOKS; i++) {
        const passing p = pass(g, view, column_at(g, i), row);
        if (p.distance >= radius) continue;
        const double half = sqrt(radius * radius - p.distance * p.distance);
        most = fmax(most, fabs(p.z - middle) + fabs(p.climb) * half);
    }
    return most;
}

/* The row with the smallest slope in view 0. */
static size_t level_row(const qb_geometry *g) {
    const qb_view *view = &g->view[0];
    const double middle = (double)(g->columns - 1) / 2;
    const double at = (view->source[2] - view->detector[2] - middle * view->u[2]) / view->v[2];
    return (size_t)fmin(fmax(isfinite(at) ? round(at) : 0, 0), (double)(g->rows - 1));
}

/* ---- rows that lean ---- */

/* Distance in columns, as seen from the source, between a pixel of a row and the same column of the middle row. */
static double lateral(const qb_view *view, double column, double row, double middle) {
    double p[2], d[2]; /* from the source to the pixel, and from the source to column 0 of the middle row */
    for (int j = 0; j < 2; j++) {
        d[j] = view->detector[j] + middle * view->v[j] - view->source[j];
        p[j] = d[j] + column * view->u[j] + (row - middle) * view->v[j];
    }
    /* p is along d + h u */
    return fabs((d[0] * p[1] - d[1] * p[0]) / (view->u[1] * p[0] - view->u[0] * p[1]) - column);
}

static qb_status check_lean(const qb_geometry *g, size_t row0, size_t row1) {
    const double middle = (double)(row0 + row1 - 1) / 2;
    for (size_t v = 0; v < g->views; v++)
        for (int i = 0; i < LOOKS; i++) {
            const double off = lateral(&g->view[v], column_at(g, i), (double)row0, middle);
            if (!(off <= lean))
                return qb__fail(QB_UNSUPPORTED,
                                "view %zu: the detector leans, its rows %zu and %zu are %.2g columns apart as the "
                                "source sees them: "
                                "give one row, --slices %zu:%zu, or leave --slices out",
                                v, row0, row1 - 1, 2 * off, level_row(g), level_row(g) + 1);
        }
    return QB_OK;
}

/* ---- the plane ---- */

static qb_status check_rows(const qb_geometry *g, size_t row0, size_t row1, double radius, const qb__fan_plane *plane) {
    const size_t level = level_row(g);
    const bool only = row0 == level && row1 == level + 1;
    for (size_t v = 0; v < g->views; v++)
        for (size_t row = row0; row < row1; row++) {
            const double most =
                strays(g, v, (double)row, plane->z + (double)(row - row0) * plane->step, radius) / plane->step;
            if (most <= stray) continue;
            if (only)
                return qb__fail(
                    QB_UNSUPPORTED,
                    "view %zu: rays of row %zu come %.3g slices away from their own: no fan beam; leave --slices out",
                    v, row, most);
            return qb__fail(
                QB_UNSUPPORTED,
                "view %zu: rays of row %zu come %.3g slices away from their own: a cone beam; leave --slices "
                "out, or take the row in the plane of the source for a fan beam, --slices %zu:%zu",
                v, row, most, level, level + 1);
        }
    return QB_OK;
}

/* Check that the detector is curved about the source, in every view. */
static qb_status check_curve(const qb_geometry *g) {
    static const double lateral = 0.01, deep = 1e-4; /* columns; of the radius */
    for (size_t v = 0; g->radius > 0 && v < g->views; v++) {
        const qb__curve curve = qb__curve_of_view(g, v);
        const bool even = fabs(curve.pitch / qb__norm(g->view[0].u) - 1) < 1e-6;
        if (even && fabs(curve.x) <= lateral * curve.pitch && fabs(curve.depth - g->radius) <= deep * g->radius)
            continue;
        return qb__fail(QB_UNSUPPORTED,
                        "view %zu: a curved detector of radius %g mm, %.6g mm from the source: qb mbir takes flat ones "
                        "and those curved about the source; leave --slices out",
                        v, g->radius, curve.depth);
    }
    return QB_OK;
}

static qb_status flatten(const qb_geometry *g, double row, qb_geometry *flat) {
    qb_status status = qb__geometry_create(QB_BEAM_CONE, g->views, 1, g->columns, flat);
    for (size_t v = 0; status == QB_OK && v < g->views; v++) {
        qb_view *to = &flat->view[v];
        *to = g->view[v];
        for (int j = 0; j < 3; j++) to->detector[j] += row * to->v[j];
        to->source[2] = to->detector[2] = to->u[2] = 0;
        to->v[2] = qb__norm(g->view[v].v);
        to->v[0] = to->v[1] = 0;
    }
    return status;
}

qb_status qb__fan_plane_create(const qb_geometry *given, size_t row0, size_t row1, double radius,
                               qb__fan_plane *plane) {
    qb_geometry seen = *given, *g = &seen;
    qb__circle circle;
    *plane = (qb__fan_plane){0};
    g->apart = false;
    if (g->beam != QB_BEAM_CONE) return qb__fail(QB_UNSUPPORTED, "parallel rays are no fan");
    QB__OR_RETURN(qb__circle_fit(g, &circle));
    plane->z = height_of(g, (double)row0);
    plane->step = circle.pixel_v * circle.sod / circle.sdd;
    if (!given->apart) {
        QB__OR_RETURN(check_lean(g, row0, row1));
        QB__OR_RETURN(check_rows(g, row0, row1, radius, plane));
    }
    QB__OR_RETURN(flatten(g, (double)(row0 + row1 - 1) / 2, &plane->flat));
    plane->flat.radius = g->radius;
    QB__OR_RETURN(qb__geometry_check(&plane->flat));
    return check_curve(&plane->flat);
}

void qb__fan_plane_destroy(qb__fan_plane *plane) {
    if (plane) qb_geometry_destroy(&plane->flat);
}
