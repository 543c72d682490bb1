/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "simulate/detector.h"

static double by_inversion(qb__random *random, double mean) {
    double left = qb__random_unit(random), term = exp(-mean), k = 0;
    while (left > term && k < 200) {
        left -= term;
        term *= mean / ++k;
    }
    return k;
}

static double log_factorial(double k) {
    int sign; /* lgamma() would store it in a global */
    return lgamma_r(k + 1, &sign);
}

static double by_rejection(qb__random *random, double mean) {
    double b = 0.931 + 2.53 * sqrt(mean), a = -0.059 + 0.02483 * b;
    double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), edge = 0.9277 - 3.6224 / (b - 2);
    for (;;) {
        double u = qb__random_unit(random) - 0.5, v = qb__random_unit(random);
        double s = 0.5 - fabs(u), k = floor((2 * a / s + b) * u + mean + 0.43);
        if (s >= 0.07 && v <= edge) return k;
        if (k < 0 || (s < 0.013 && v > s)) continue;
        double limit = k * log(mean) - mean - log_factorial(k);
        if (log(v * inverse_alpha / (a / (s * s) + b)) <= limit) return k;
    }
}

double qb__poisson(qb__random *random, double mean) {
    if (!(mean > 0)) return 0;
    return mean < 10 ? by_inversion(random, mean) : by_rejection(random, mean);
}
