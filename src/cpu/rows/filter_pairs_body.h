/* SPDX-License-Identifier: MIT */
/* Compiled once for each vector length; QB_PAIRS is the name of the function. No fused operations. */
#include "cpu/rows/filter_pairs.h"

void QB_PAIRS(const float *restrict turn, const float *restrict low, const float *restrict high, size_t count,
              float *restrict front, float *restrict back) {
    for (size_t i = 0; i < count; i++) {
        float a = front[i], b = *(back - i);
        float x = (turn[i] * a + b) * low[i];
        float y = (turn[i] * b - a) * high[i];
        front[i] = turn[i] * x - y;
        *(back - i) = turn[i] * y + x;
    }
}
