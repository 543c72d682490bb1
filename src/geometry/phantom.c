/* SPDX-License-Identifier: MIT */
#include "geometry/phantom.h"

#include <math.h>

#include "base/memory.h"
#include "geometry/vector.h"

qb__ellipsoid qb__ellipsoid_make(const double center[3], const double semi[3], double phi,
                                 double value) {
    double c = cos(phi), s = sin(phi);
    return (qb__ellipsoid){
        .center = {center[0], center[1], center[2]},
        .a = {{c / semi[0], s / semi[0], 0}, {-s / semi[1], c / semi[1], 0}, {0, 0, 1 / semi[2]}},
        .value = value,
    };
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
        if (qb__dot(w, w) <= 1) sum += e->value;
    }
    return sum;
}

/* In the ellipsoid's own coordinates, where it is the unit ball, the line passes the centre at the
 * distance |w x d| / |d|; what it cuts off there is stretched by the ratio of the two lengths of d.
 */
double qb__phantom_line(const qb__phantom *phantom, const double origin[3],
                        const double direction[3]) {
    double sum = 0;
    for (size_t i = 0; i < phantom->count; i++) {
        const qb__ellipsoid *e = &phantom->shape[i];
        double p[3], w[3], d[3], n[3];
        for (int k = 0; k < 3; k++) p[k] = origin[k] - e->center[k];
        qb__apply(e->a, p, w);
        qb__apply(e->a, direction, d);
        qb__cross(w, d, n);
        double q = qb__dot(d, d), inside = q - qb__dot(n, n);
        if (inside > 0) sum += e->value * 2 * sqrt(inside) / q * qb__norm(direction);
    }
    return sum;
}

/* From centre and longest semi-axis: a bound, tight for spheres. */
double qb__phantom_reach(const qb__phantom *phantom) {
    double reach = 0;
    for (size_t i = 0; i < phantom->count; i++) {
        const qb__ellipsoid *e = &phantom->shape[i];
        double longest = 0;
        bool infinite = false;
        for (int k = 0; k < 3; k++) {
            double inverse = qb__norm(e->a[k]);
            if (inverse == 0)
                infinite = true;
            else
                longest = fmax(longest, 1 / inverse);
        }
        double z = infinite ? 0 : e->center[2];
        double flat = hypot(e->center[0], e->center[1]);
        reach = fmax(reach, hypot(flat, z) + longest);
    }
    return reach;
}
