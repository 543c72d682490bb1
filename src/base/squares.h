/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>

/* Sum of the squares of a - b, in four independent partial sums. */
static inline double qb__squares_between(const float *a, const float *b, size_t count) {
    enum { SUMS = 4 };
    double sum[SUMS] = {0}, rest = 0;
    size_t k = 0;
    for (; k + SUMS <= count; k += SUMS)
        for (size_t i = 0; i < SUMS; i++) {
            const double d = (double)a[k + i] - (double)b[k + i];
            sum[i] += d * d;
        }
    for (; k < count; k++) rest += ((double)a[k] - (double)b[k]) * ((double)a[k] - (double)b[k]);
    return (sum[0] + sum[1]) + (sum[2] + sum[3]) + rest;
}
