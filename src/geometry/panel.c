/* SPDX-License-Identifier: MIT */
#include "geometry/roll.h"

#include "geometry/circle.h"
#include "geometry/matrix.h"
#include "geometry/virtual_detector.h"
#include "geometry/vector.h"

/* Extent of a view's panel from its centre along a direction in pixels, in units of that direction. */
static double times_within(const double direction[2], double columns, double rows) {
    const double c = fabs(direction[0]), r = fabs(direction[1]);
    return fmin(c > 0 ? columns / c : INFINITY, r > 0 ? rows / r : INFINITY);
}

/* A horizontal step, and a perpendicular one along the axis, in columns and rows. */
static bool steps_of(const qb_view *view, double level[2], double vertical[2]) {
    const double u = qb__norm(view->u), v = qb__norm(view->v);
    level[0] = view->v[2], level[1] = -view->u[2];
    vertical[0] = -level[1] * v / u, vertical[1] = level[0] * u / v;
    return hypot(level[0] * u, level[1] * v) > 1e-9 * u * v;
}

static void measure(const qb_view *view, const double step[2], double columns, double rows, double *pixels,
                    double *pitch) {
    const double length = hypot(step[0], step[1]);
    *pixels = times_within(step, columns, rows) * length;
    *pitch = hypot(step[0] * qb__norm(view->u), step[1] * qb__norm(view->v)) / length;
}

qb__panel qb__panel_of(const qb_geometry *geometry) {
    const double columns = (double)geometry->columns, rows = (double)geometry->rows, views = (double)geometry->views;
    qb__panel sum = {0};
    for (size_t i = 0; i < geometry->views; i++) {
        const qb_view *view = &geometry->view[i];
        double level[2], vertical[2];
        qb__panel one = {0, columns, rows, qb__norm(view->u), qb__norm(view->v)};
        if (steps_of(view, level, vertical)) {
            one.turn = atan2(fabs(view->u[2]) / one.pitch_across, fabs(view->v[2]) / one.pitch_along) * (180 / M_PI);
            measure(view, level, columns, rows, &one.across, &one.pitch_across);
            measure(view, vertical, columns, rows, &one.along, &one.pitch_along);
        }
        sum.turn += one.turn / views;
        sum.across += one.across / views, sum.along += one.along / views;
        sum.pitch_across += one.pitch_across / views, sum.pitch_along += one.pitch_along / views;
    }
    return sum;
}

bool qb__panel_is_turned(const qb_geometry *geometry) {
    return geometry->radius == 0 && qb__virtual_detector_drift(geometry) > 1;
}

void qb__panel_level_line(const qb_geometry *geometry, size_t view, double first[2], double last[2]) {
    const double middle[2] = {0.5 * ((double)geometry->columns - 1), 0.5 * ((double)geometry->rows - 1)};
    double level[2], vertical[2];
    if (!steps_of(&geometry->view[view], level, vertical)) level[0] = 1, level[1] = 0;
    const double times = times_within(level, middle[0], middle[1]);
    for (int a = 0; a < 2; a++) {
        first[a] = middle[a] - times * level[a];
        last[a] = middle[a] + times * level[a];
    }
}

/* ---- field of view ---- */

/* One view: its matrix, its angle, and the limits of its panel in pixels. Across, the panel ends at the centres of its
 * outermost pixels, along the axis at their edges: as for an untilted detector. */
typedef struct window {
    qb__matrix matrix;
    double angle, low[2], high[2];
} window;

static bool window_of(const qb_geometry *geometry, size_t i, window *w) {
    const qb_view *view = &geometry->view[i];
    const double edge[2] = {0.5 * fabs(view->u[2]) / qb__norm(view->u), 0.5 * fabs(view->v[2]) / qb__norm(view->v)};
    const double count[2] = {(double)geometry->columns, (double)geometry->rows};
    if (qb__matrix_of_view(geometry->beam, view, &w->matrix) != QB_OK) return false;
    w->angle = qb__view_angle(geometry->beam, view);
    for (int a = 0; a < 2; a++) w->low[a] = -edge[a], w->high[a] = count[a] - 1 + edge[a];
    return true;
}

/* The part of low..high where a + b z >= 0. */
static void keep(double a, double b, double *low, double *high) {
    if (b > 0)
        *low = fmax(*low, -a / b);
    else if (b < 0)
        *high = fmin(*high, -a / b);
    else if (a < 0)
        *high = -INFINITY;
}

/* The z on the vertical line through a point of the circle, at `aside` radians from the source's side, that falls on
 * the panel; low > high: none. */
static void on_line(const window *w, double radius, double lateral, double *low, double *high) {
    const double t = w->angle + lateral, x = radius * sin(t), y = -radius * cos(t);
    double at0[3], at1[3];
    qb__matrix_apply(&w->matrix, x, y, 0, at0);
    qb__matrix_apply(&w->matrix, x, y, 1, at1);
    *low = -INFINITY, *high = INFINITY;
    for (int a = 0; a < 2; a++) {
        const double slope = at1[a] - at0[a], depth = at1[2] - at0[2];
        keep(at0[a] - w->low[a] * at0[2], slope - w->low[a] * depth, low, high);
        keep(w->high[a] * at0[2] - at0[a], w->high[a] * depth - slope, low, high);
    }
}

bool qb__panel_heights(const qb_geometry *geometry, double radius, bool either, double *low, double *high) {
    enum { HALF = 48 }; /* points on half a circle */
    *low = -INFINITY, *high = INFINITY;
    for (size_t i = 0; i < geometry->views && *low <= *high; i++) {
        window w;
        if (!window_of(geometry, i, &w)) continue;
        for (int k = 0; k <= (radius > 0 ? HALF : 0); k++) {
            double a[2], b[2], lateral = M_PI * k / HALF;
            on_line(&w, radius, lateral, &a[0], &b[0]);
            on_line(&w, radius, -lateral, &a[1], &b[1]);
            const bool there[2] = {a[0] <= b[0], a[1] <= b[1]};
            if (either && (there[0] || there[1])) {
                const int one = there[0] ? 0 : 1, other = there[1] ? 1 : 0;
                *low = fmax(*low, fmin(a[one], a[other]));
                *high = fmin(*high, fmax(b[one], b[other]));
            } else {
                *low = fmax(*low, fmax(a[0], a[1]));
                *high = fmin(*high, fmin(b[0], b[1]));
            }
        }
    }
    return *low <= *high;
}

double qb__panel_radius(const qb_geometry *geometry, bool either) {
    enum { HALVINGS = 30 };
    double inside = 0, outside = INFINITY, low, high;
    if (!qb__panel_heights(geometry, 0, either, &low, &high)) return 0;
    for (size_t i = 0; i < geometry->views; i++) {
        const qb_view *view = &geometry->view[i];
        const double wide = (double)geometry->columns * qb__norm(view->u) + (double)geometry->rows * qb__norm(view->v);
        double middle[3];
        for (int j = 0; j < 3; j++)
            middle[j] = view->detector[j] +
                        0.5 * ((double)geometry->columns * view->u[j] + (double)geometry->rows * view->v[j]);
        outside = fmin(outside, geometry->beam == QB_BEAM_CONE ? hypot(view->source[0], view->source[1])
                                                               : wide + hypot(middle[0], middle[1]));
    }
    for (int i = 0; i < HALVINGS; i++) {
        const double at = 0.5 * (inside + outside);
        *(qb__panel_heights(geometry, at, either, &low, &high) ? &inside : &outside) = at;
    }
    return inside;
}
