/* SPDX-License-Identifier: MIT */
#include "geometry/phantom.h"

#include "base/memory.h"
#include "geometry/vector.h"

qb__ellipsoid qb__ellipsoid_make(const double center[3], const double semi[3], double phi, double value) {
    double c = cos(phi), s = sin(phi);
    return (qb__ellipsoid){
        .center = {center[0], center[1], center[2]},
        .a = {{c / semi[0], s / semi[0], 0}, {-s / semi[1], c / semi[1], 0}, {0, 0, 1 / semi[2]}},
        .value = value,
    };
}

qb__ellipsoid qb__box_make(const double center[3], const double half[3], double phi, double value) {
    qb__ellipsoid box = qb__ellipsoid_make(center, half, phi, value);
    box.box = true;
    return box;
}

bool qb__box_cut(const double w[3], const double d[3], double limit, double *from, double *to) {
    *from = -INFINITY;
    *to = INFINITY;
    for (int k = 0; k < 3; k++) {
        if (d[k] == 0) {
            if (fabs(w[k]) > limit) return false;
            continue;
        }
        const double a = (-limit - w[k]) / d[k], b = (limit - w[k]) / d[k];
        *from = fmax(*from, fmin(a, b));
        *to = fmin(*to, fmax(a, b));
    }
    return *from < *to && isfinite(*to - *from);
}

static bool holds(const qb__ellipsoid *e, const double w[3]) {
    return e->box ? fmax(fmax(fabs(w[0]), fabs(w[1])), fabs(w[2])) <= 1 : qb__dot(w, w) <= 1;
}

void qb__phantom_destroy(qb__phantom *phantom) {
    if (!phantom) return;
    qb__free(phantom->shape);
    *phantom = (qb__phantom){0};
}

double qb__phantom_value(const qb__phantom *phantom, const double point[3]) {
    double sum = 0;
    for (size_t i = 0; i < phantom->count; i++) {
        const qb__ellipsoid *e = &phantom->shape[i];
        double p[3], w[3];
        for (int k = 0; k < 3; k++) p[k] = point[k] - e->center[k];
        qb__apply(e->a, p, w);
        if (holds(e, w)) sum += e->value;
    }
    return sum;
}

/* In the ellipsoid's own coordinates, where it is the unit ball, the line passes the centre at distance |w x d| / |d|;
 * the length of the chord there is scaled by the ratio of the two lengths of d. */
double qb__phantom_line(const qb__phantom *phantom, const double origin[3], const double direction[3]) {
    double sum = 0;
    for (size_t i = 0; i < phantom->count; i++) {
        const qb__ellipsoid *e = &phantom->shape[i];
        double p[3], w[3], d[3], n[3];
        for (int k = 0; k < 3; k++) p[k] = origin[k] - e->center[k];
        qb__apply(e->a, p, w);
        qb__apply(e->a, direction, d);
        if (e->box) {
            double from, to;
            if (qb__box_cut(w, d, 1, &from, &to)) sum += e->value * (to - from) * qb__norm(direction);
            continue;
        }
        qb__cross(w, d, n);
        double q = qb__dot(d, d), inside = q - qb__dot(n, n);
        if (inside > 0) sum += e->value * 2 * sqrt(inside) / q * qb__norm(direction);
    }
    return sum;
}

/* An upper limit of the radius, from the centre and the longest semi-axis (of a box its diagonal); exact for
 * spheres. */
double qb__phantom_reach(const qb__phantom *phantom) {
    double reach = 0;
    for (size_t i = 0; i < phantom->count; i++) {
        const qb__ellipsoid *e = &phantom->shape[i];
        double longest = 0, diagonal = 0;
        bool infinite = false;
        for (int k = 0; k < 3; k++) {
            double inverse = qb__norm(e->a[k]);
            if (inverse == 0)
                infinite = true;
            else
                longest = fmax(longest, 1 / inverse), diagonal = hypot(diagonal, 1 / inverse);
        }
        double z = infinite ? 0 : e->center[2];
        double flat = hypot(e->center[0], e->center[1]);
        reach = fmax(reach, hypot(flat, z) + (e->box ? diagonal : longest));
    }
    return reach;
}
