/* SPDX-License-Identifier: MIT */
#include "cpu/bp_parallel.h"
#include "cpu/bp_parallel_line.h"

static double column_or_zero(const float *row, size_t columns, int64_t k) {
    return k >= 0 && (uint64_t)k < columns ? (double)row[k] : 0.0;
}

static double linear(const qb__bp_parallel_problem *problem, size_t view, const float *row,
                     size_t x, size_t y) {
    double h = problem->ax[view] * (double)x + problem->ay[view] * (double)y + problem->h0[view];
    if (!(h > -1.0 && h < (double)problem->columns)) return 0.0;
    double below = floor(h), fraction = h - below;
    int64_t k = (int64_t)below;
    return (1.0 - fraction) * column_or_zero(row, problem->columns, k) +
           fraction * column_or_zero(row, problem->columns, k + 1);
}

static double nearest(const qb__bp_parallel_problem *problem, size_t view, const float *row,
                      size_t x, size_t y) {
    int64_t half = INT64_C(1) << 31;
    int64_t q = qb__bp_line_at(qb__bp_line_of(problem, view), x, y) + half;
    return column_or_zero(row, problem->columns, q >> 32);
}

double qb__bp_parallel_reference(const qb__bp_parallel_problem *problem, qb__interp interp,
                                 const float *rows, size_t row_stride, size_t x, size_t y) {
    double sum = 0.0;
    for (size_t v = 0; v < problem->views; v++) {
        const float *row = rows + v * row_stride;
        sum += interp == QB__INTERP_NEAREST ? nearest(problem, v, row, x, y)
                                            : linear(problem, v, row, x, y);
    }
    return sum;
}
