/* SPDX-License-Identifier: MIT */
#include "geometry/curve.h"

#include "geometry/vector.h"

/* Unit normal of the detector, away from the source. */
static void outward(const qb_geometry *geometry, const qb_view *view, double n[3]) {
    double from[3];
    qb__cross(view->u, view->v, n);
    for (int j = 0; j < 3; j++) from[j] = view->detector[j] - view->source[j];
    const double *along = geometry->beam == QB_BEAM_CONE ? from : view->source;
    double length = copysign(qb__norm(n), qb__dot(along, n));
    for (int j = 0; j < 3; j++) n[j] /= length;
}

static double touching_column(const qb_view *view) {
    return -qb__dot(view->detector, view->u) / qb__dot(view->u, view->u);
}

qb__curve qb__curve_of_view(const qb_geometry *geometry, size_t i) {
    const qb_view *view = &geometry->view[i];
    double n[3], away[3];
    qb__curve curve = {.radius = geometry->radius, .touch = touching_column(view), .pitch = qb__norm(view->u)};
    outward(geometry, view, n);
    for (int j = 0; j < 3; j++) away[j] = view->source[j] - view->detector[j];
    curve.x = qb__dot(away, view->u) / curve.pitch - curve.touch * curve.pitch;
    curve.depth = -qb__dot(away, n);
    curve.row = qb__dot(away, view->v) / qb__dot(view->v, view->v);
    return curve;
}

/* The ray starts at the source at t = 0, reaches the plane at t = 1, and the cylinder x^2 + (depth + radius)^2 =
 * radius^2 at the larger root of a quadratic. */
void qb__curve_pixel(const qb__curve *curve, double *column, double *row) {
    double dx = (*column - curve->touch) * curve->pitch - curve->x, dz = curve->depth;
    double rest = curve->radius - curve->depth;
    double a = dx * dx + dz * dz, b = curve->x * dx + rest * dz;
    double c = curve->x * curve->x + (rest - curve->radius) * (rest + curve->radius);
    double t = (sqrt(b * b - a * c) - b) / a;
    double arc = atan2(curve->x + t * dx, rest + t * dz);
    *column = curve->touch + arc * curve->radius / curve->pitch;
    *row = curve->row + t * (*row - curve->row);
}

void qb__pixel_position(const qb_geometry *geometry, size_t i, double column, double row, double place[3]) {
    const qb_view *view = &geometry->view[i];
    double depth = 0, n[3] = {0};
    if (geometry->radius > 0) {
        double pitch = qb__norm(view->u), touch = touching_column(view);
        double arc = (column - touch) * pitch / geometry->radius;
        column = touch + geometry->radius * sin(arc) / pitch;
        depth = geometry->radius * (cos(arc) - 1);
        outward(geometry, view, n);
    }
    for (int j = 0; j < 3; j++) place[j] = view->detector[j] + column * view->u[j] + row * view->v[j] + depth * n[j];
}

void qb__pixel_ray(const qb_geometry *geometry, size_t view, double column, double row, double place[3],
                   double along[3]) {
    const double *source = geometry->view[view].source;
    qb__pixel_position(geometry, view, column, row, place);
    for (int j = 0; j < 3; j++) along[j] = geometry->beam == QB_BEAM_CONE ? place[j] - source[j] : source[j];
}
