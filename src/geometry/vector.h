/* SPDX-License-Identifier: MIT */
#pragma once

#include <math.h>

static inline double qb__dot(const double a[3], const double b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

static inline double qb__norm(const double a[3]) { return sqrt(qb__dot(a, a)); }

/* `out` must differ from a and b. */
static inline void qb__cross(const double a[3], const double b[3], double out[3]) {
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

/* out = a p; `out` must differ from p. */
static inline void qb__apply(const double a[3][3], const double p[3], double out[3]) {
    for (int i = 0; i < 3; i++) out[i] = qb__dot(a[i], p);
}
