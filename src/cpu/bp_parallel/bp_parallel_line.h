/* SPDX-License-Identifier: MIT */
#pragma once

#include "bp_parallel.h"

#include <math.h>

/* The column coordinate in fixed point with 32 fraction bits: q(x, y) = a x + b y + c in integers, so that every
 * variant computes the same coordinate for any tile. The floor is the upper half of q, the fraction the lower half.
 * Rounding a and b to 2^-32 moves pixel 16,384 by at most 2e-6 columns. */
typedef struct qb__bp_line {
    int64_t a, b, c;
} qb__bp_line;

/* Rounded to the nearest 2^-32, ties to even. */
static inline int64_t qb__bp_fixed(double columns) { return (int64_t)llrint(columns * 0x1p32); }

static inline qb__bp_line qb__bp_line_of(const qb__bp_parallel_problem *problem, size_t view) {
    return (qb__bp_line){qb__bp_fixed(problem->ax[view]), qb__bp_fixed(problem->ay[view]),
                         qb__bp_fixed(problem->h0[view])};
}

static inline int64_t qb__bp_line_at(qb__bp_line line, size_t x, size_t y) {
    return line.a * (int64_t)x + line.b * (int64_t)y + line.c;
}

/* The columns [begin, end) of a view that a square of pixels may read, for prefetching. */
typedef struct qb__bp_span {
    size_t begin, end;
} qb__bp_span;

static inline qb__bp_span qb__bp_line_span(qb__bp_line line, size_t x, size_t y, int64_t side, size_t columns) {
    int64_t q = qb__bp_line_at(line, x, y), right = line.a * (side - 1), down = line.b * (side - 1);
    int64_t low = (q + (right < 0 ? right : 0) + (down < 0 ? down : 0)) >> 32;
    int64_t high = ((q + (right > 0 ? right : 0) + (down > 0 ? down : 0)) >> 32) + 2;
    int64_t end = (int64_t)columns;
    low = low < 0 ? 0 : low < end ? low : end;
    high = high < low ? low : high < end ? high : end;
    return (qb__bp_span){(size_t)low, (size_t)high};
}

/* NULL unless a coordinate of a pixel overflows q; includes tiles that extend beyond the slice. */
static inline const char *qb__bp_line_unfit(const qb__bp_parallel_problem *problem) {
    double nx = (double)problem->nx + 256, ny = (double)problem->ny + 256;
    for (size_t v = 0; v < problem->views; v++) {
        double farthest = fabs(problem->ax[v]) * nx + fabs(problem->ay[v]) * ny + fabs(problem->h0[v]);
        if (!(farthest < 0x1p29)) return "coordinates reach further than fixed point holds";
    }
    return NULL;
}
