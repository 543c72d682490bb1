/* SPDX-License-Identifier: MIT */
#include "cpu/bp_parallel/bp_parallel.h"
#include "cpu/bp_parallel/bp_parallel_line.h"

static double column_or_zero(const float *row, size_t columns, int64_t k) {
    return k >= 0 && (uint64_t)k < columns ? (double)row[k] : 0.0;
}

static double linear(const qb__bp_parallel_problem *problem, size_t view, const float *row, size_t x, size_t y) {
    double h = problem->ax[view] * (double)x + problem->ay[view] * (double)y + problem->h0[view];
    if (!(h > -1.0 && h < (double)problem->columns)) return 0.0;
    double below = floor(h), fraction = h - below;
    int64_t k = (int64_t)below;
    return (1.0 - fraction) * column_or_zero(row, problem->columns, k) +
           fraction * column_or_zero(row, problem->columns, k + 1);
}

static double nearest(const qb__bp_parallel_problem *problem, size_t view, const float *row, size_t x, size_t y) {
    int64_t half = INT64_C(1) << 31;
    int64_t q = qb__bp_line_at(qb__bp_line_of(problem, view), x, y) + half;
    return column_or_zero(row, problem->columns, q >> 32);
}

/* The nearest sample, half up, of the row resampled linearly to QB__OVERSAMPLE times its columns. */
static double oversample(const qb__bp_parallel_problem *problem, size_t view, const float *row, size_t x, size_t y) {
    int64_t half = INT64_C(1) << 31;
    int64_t q = QB__OVERSAMPLE * qb__bp_line_at(qb__bp_line_of(problem, view), x, y) + half;
    int64_t sample = q >> 32,
            below = sample >= 0 ? sample / QB__OVERSAMPLE : -((QB__OVERSAMPLE - 1 - sample) / QB__OVERSAMPLE);
    double fraction = (double)(sample - below * QB__OVERSAMPLE) / QB__OVERSAMPLE;
    return (1.0 - fraction) * column_or_zero(row, problem->columns, below) +
           fraction * column_or_zero(row, problem->columns, below + 1);
}

double qb__bp_parallel_reference(const qb__bp_parallel_problem *problem, qb_interp interp, const float *rows,
                                 size_t row_stride, size_t x, size_t y) {
    static double (*const interpolate[])(const qb__bp_parallel_problem *, size_t, const float *, size_t, size_t) = {
        [QB_INTERP_LINEAR] = linear, [QB_INTERP_NEAREST] = nearest, [QB_INTERP_OVERSAMPLE] = oversample};
    double sum = 0.0;
    for (size_t v = 0; v < problem->views; v++) sum += interpolate[interp](problem, v, rows + v * row_stride, x, y);
    return sum;
}
