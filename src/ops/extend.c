/* SPDX-License-Identifier: MIT */
#include "ops/filter.h"

#include <math.h>
#include <string.h>

/* One end of a row, seen from the end: i = 0 is the last value, 1, 2, ... lie inside; -1, -2, ... are written. */
typedef struct end {
    float *last;
    ptrdiff_t inward; /* 1 or -1 */
    size_t columns;
} end;

static float at(const end *e, size_t i) { return e->last[(ptrdiff_t)i * e->inward]; }

static void put(const end *e, size_t beyond, float value) { e->last[-(ptrdiff_t)beyond * e->inward] = value; }

/* Index i of the sample that is mirrored at distance `beyond` >= 1 from the end. */
static size_t mirrored(size_t beyond, size_t columns) {
    size_t i = (beyond - 1) % (2 * columns);
    return i < columns ? i : 2 * columns - 1 - i;
}

size_t qb__extend_reach(qb_pad pad, size_t columns) {
    switch (pad) {
    case QB_PAD_ZERO: return 0;
    case QB_PAD_TAPER: return (columns + 1) / 2;
    case QB_PAD_ELLIPSE: return columns;
    case QB_PAD_EDGE:
    case QB_PAD_MIRROR: break;
    }
    return SIZE_MAX;
}

/* Falls from 1 to 0 as k goes from 0 to n + 1. */
static double fade(size_t k, size_t n) {
    double c = cos(0.5 * M_PI * (double)k / (double)(n + 1));
    return c * c;
}

static void extend_edge(const end *e, size_t count) {
    for (size_t k = 1; k <= count; k++) put(e, k, at(e, 0));
}

static void extend_mirror(const end *e, size_t count) {
    for (size_t k = 1; k <= count; k++) put(e, k, at(e, mirrored(k, e->columns)));
}

static void extend_taper(const end *e, size_t count) {
    size_t reach = qb__extend_reach(QB_PAD_TAPER, e->columns);
    for (size_t k = 1; k <= count; k++) {
        double value = 0;
        if (k <= reach) value = fmax(2 * (double)at(e, 0) - at(e, mirrored(k, e->columns)), 0) * fade(k, reach);
        put(e, k, (float)value);
    }
}

static double squared(const end *e, size_t i) {
    double value = fmax(at(e, i), 0);
    return value * value;
}

/* The second-order term of the least-squares parabola through the squared row. */
static double curvature(const end *e) {
    double n = (double)e->columns, mean = (n * n - 1) / 12, sum = 0, norm = 0;
    for (size_t i = 0; i < e->columns; i++) {
        double x = (double)i - 0.5 * (n - 1), p = x * x - mean;
        sum += squared(e, i) * p;
        norm += p * p;
    }
    return norm > 0 ? sum / norm : 0;
}

/* Level and outward slope of the squared row at its end: a least-squares line through its last samples without their
 * second-order term. */
static void line_at_end(const end *e, double quadratic, double *level, double *slope) {
    size_t n = e->columns / 16 > 4 ? e->columns / 16 : e->columns < 4 ? e->columns : 4;
    double middle = 0.5 * ((double)n - 1), sum = 0, tilt = 0, norm = 0;
    for (size_t i = 0; i < n; i++) {
        double x = middle - (double)i, rest = squared(e, i) - quadratic * (double)i * (double)i;
        sum += rest;
        tilt += rest * x;
        norm += x * x;
    }
    *slope = norm > 0 ? tilt / norm : 0;
    *level = sum / (double)n + *slope * middle;
    *slope = fmin(*slope, 0); /* the object is convex at its end */
    *level = fmax(*level, 0);
}

static void extend_ellipse(const end *e, size_t count) {
    size_t reach = qb__extend_reach(QB_PAD_ELLIPSE, e->columns), tail = reach / 4 + 1;
    double level, slope, quadratic = fmin(curvature(e), 0), half = 0.5 * (double)reach;
    line_at_end(e, quadratic, &level, &slope);
    /* a row without downward curvature gives no estimate: use half of the distance */
    if (quadratic == 0) quadratic = -level / (half * half);
    bool over = false;
    for (size_t k = 1; k <= count; k++) {
        double x = (double)k, square = level + x * (slope + x * quadratic);
        over = over || k > reach || !(square > 0);
        double value = over ? 0 : sqrt(square);
        if (!over && k > reach - tail) value *= fade(k - (reach - tail), tail);
        put(e, k, (float)value);
    }
}

void qb__extend(qb_pad pad, float *row, size_t columns, size_t left, size_t right) {
    static void (*const ways[])(const end *, size_t) = {
        [QB_PAD_EDGE] = extend_edge,
        [QB_PAD_MIRROR] = extend_mirror,
        [QB_PAD_TAPER] = extend_taper,
        [QB_PAD_ELLIPSE] = extend_ellipse,
    };
    if (pad == QB_PAD_ZERO) {
        memset(row - left, 0, left * sizeof *row);
        memset(row + columns, 0, right * sizeof *row);
        return;
    }
    end first = {row, 1, columns}, last = {row + columns - 1, -1, columns};
    ways[pad](&first, left);
    ways[pad](&last, right);
}

/* Distance inside the row of the value that is repeated at distance `beyond`. */
static size_t repeated(qb_pad pad, size_t beyond, size_t columns) {
    return pad == QB_PAD_MIRROR ? mirrored(beyond, columns) : 0;
}

static void fold(qb_pad pad, const end *e, size_t count) {
    for (size_t k = 1; k <= count; k++) {
        const size_t i = repeated(pad, k, e->columns);
        e->last[(ptrdiff_t)i * e->inward] += e->last[-(ptrdiff_t)k * e->inward];
    }
}

void qb__extend_transposed(qb_pad pad, float *row, size_t columns, size_t left, size_t right) {
    if (pad != QB_PAD_EDGE && pad != QB_PAD_MIRROR) return;
    fold(pad, &(end){row, 1, columns}, left);
    fold(pad, &(end){row + columns - 1, -1, columns}, right);
}
