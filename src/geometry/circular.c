/* SPDX-License-Identifier: MIT */
#include "geometry/circle.h"

#include "geometry/vector.h"

/* Rodrigues' formula: a vector rotated by an angle about a unit axis, right-handed. */
static void turn(double vector[3], const double axis[3], double angle) {
    double c = cos(angle), s = sin(angle), along = qb__dot(axis, vector) * (1 - c), across[3];
    qb__cross(axis, vector, across);
    for (int j = 0; j < 3; j++) vector[j] = c * vector[j] + s * across[j] + along * axis[j];
}

static void disturb_view(qb_view *view, double angle, double sod, double sdd, const qb__faults *f) {
    const double side[3] = {cos(angle), sin(angle), 0}, up[3] = {0, 0, 1};
    const double ray[3] = {-sin(angle), cos(angle), 0};
    double arm[3], shift = sin(f->periods * angle + f->phase);
    for (int j = 0; j < 3; j++) arm[j] = view->detector[j] - (sdd - sod) * ray[j];
    double *vectors[3] = {arm, view->u, view->v};
    for (int i = 0; i < 3; i++) {
        turn(vectors[i], side, f->out_of_plane);
        turn(vectors[i], up, f->slant);
        turn(vectors[i], ray, f->in_plane);
    }
    double u = shift * f->jitter_u / qb__norm(view->u), v = shift * f->jitter_v / qb__norm(view->v);
    for (int j = 0; j < 3; j++) view->detector[j] = (sdd - sod) * ray[j] + arm[j] + u * view->u[j] + v * view->v[j];
}

void qb__geometry_disturb(qb_geometry *geometry, const double *angles, double sod, double sdd,
                          const qb__faults *faults) {
    const qb__faults *f = faults;
    /* Without a misalignment no bit may change: a circle stays exact. */
    if (f->in_plane == 0 && f->out_of_plane == 0 && f->slant == 0 && f->jitter_u == 0 && f->jitter_v == 0) return;
    for (size_t i = 0; i < geometry->views; i++) disturb_view(&geometry->view[i], angles[i], sod, sdd, faults);
}
