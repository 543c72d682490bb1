/* SPDX-License-Identifier: MIT */
#include "base/pchip.h"

#include <math.h>
#include <stdbool.h>

static double secant(const double *x, const double *y, size_t i) { return (y[i + 1] - y[i]) / (x[i + 1] - x[i]); }

/* Slope at an end of the curve: that of the parabola through three points, unless the curve would then not be
 * monotonic. h, d: length and slope of the first piece and of the next one. */
static double end_slope(double h0, double d0, double h1, double d1) {
    const double slope = ((2 * h0 + h1) * d0 - h0 * d1) / (h0 + h1);
    if (slope * d0 <= 0) return 0;
    return d0 * d1 <= 0 && fabs(slope) > 3 * fabs(d0) ? 3 * d0 : slope;
}

/* True if the curve continues from point i to the left, or to the right. */
static bool goes_left(const double *x, size_t i) { return i > 0 && x[i - 1] < x[i]; }
static bool goes_right(const double *x, size_t count, size_t i) { return i + 1 < count && x[i] < x[i + 1]; }

double qb__pchip_slope(const double *x, const double *y, size_t count, size_t i) {
    const bool left = goes_left(x, i), right = goes_right(x, count, i);
    if (left && right) {
        const double h0 = x[i] - x[i - 1], h1 = x[i + 1] - x[i], d0 = secant(x, y, i - 1), d1 = secant(x, y, i);
        if (d0 * d1 <= 0) return 0;
        const double w0 = 2 * h1 + h0, w1 = h1 + 2 * h0;
        return (w0 + w1) / (w0 / d0 + w1 / d1);
    }
    if (right) {
        if (!goes_right(x, count, i + 1)) return secant(x, y, i);
        return end_slope(x[i + 1] - x[i], secant(x, y, i), x[i + 2] - x[i + 1], secant(x, y, i + 1));
    }
    if (!left) return 0;
    if (!goes_left(x, i - 1)) return secant(x, y, i - 1);
    return end_slope(x[i] - x[i - 1], secant(x, y, i - 1), x[i - 1] - x[i - 2], secant(x, y, i - 2));
}

double qb__pchip(const double *x, const double *y, size_t count, double at) {
    size_t i = 0;
    if (count < 2) return count ? y[0] : NAN;
    if (at < x[0]) return y[0] + (at - x[0]) * qb__pchip_slope(x, y, count, 0);
    if (at >= x[count - 1]) return y[count - 1] + (at - x[count - 1]) * qb__pchip_slope(x, y, count, count - 1);
    while (x[i + 1] <= at) i++;
    const double h = x[i + 1] - x[i], t = (at - x[i]) / h, s0 = h * qb__pchip_slope(x, y, count, i),
                 s1 = h * qb__pchip_slope(x, y, count, i + 1), rise = y[i + 1] - y[i];
    return y[i] + t * (s0 + t * (3 * rise - 2 * s0 - s1 + t * (s0 + s1 - 2 * rise)));
}
