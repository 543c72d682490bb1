/* SPDX-License-Identifier: MIT */
/* Columns without a usable signal, after the idea of Vo, Atwood, Drakopoulos (Opt. Express 26 (2018) 28396, algorithm
 * 6): their values do not change with the views, or fluctuate. The measure is the mean difference between successive
 * views. It is compared with the medians of the columns on both sides, so that the edge of an object that turns about
 * its own axis does not count as a fault. */
#include <math.h>

#include "base/sort.h"
#include "cpu/rows/ring_loops.h"
#include "prep/rings.h"

enum { COMPARED = 9 }; /* columns on each side */

/* The median of the existing columns first, first + step, ... */
static double median_of_neighbours(const double *from, size_t columns, size_t first, size_t step, bool leftwards) {
    double picked[COMPARED];
    size_t count = 0;
    for (size_t at = first; at < columns && count < COMPARED; at = leftwards ? at - step : at + step)
        picked[count++] = from[at]; /* left of column 0 `at` wraps to a large number */
    return qb__middle(picked, count);
}

/* Noise jumps from view to view, and its second differences are 1.73 times as large as its first ones. The changes by
 * an object's edges are smoother. */
static bool is_rough(const qb__rings_row *row, size_t c) {
    const double LEAST = 1.4;
    double first = 0, second = 0;
    for (size_t v = 1; v + 1 < row->views; v++) {
        const float *at = row->lines + v * row->columns + c;
        const double before = (double)*(at - row->columns), here = (double)*at, after = (double)at[row->columns];
        first += fabs(after - here);
        second += fabs(before - 2 * here + after);
    }
    return second > LEAST * first;
}

/* Edges of an object that moves change as roughly as noise, but in neighbouring columns alike. */
static bool is_alike(const qb__rings_row *row, size_t c) {
    const double LEAST = 0.3; /* correlation */
    double own = 0, side[2] = {0}, both[2] = {0};
    for (size_t v = 0; v + 1 < row->views; v++) {
        const float *at = row->lines + v * row->columns + c, *next = at + row->columns;
        const double here = (double)(*next - *at);
        own += here * here;
        for (int i = 0; i < 2; i++) {
            const double there = (double)(next[2 * i - 1] - at[2 * i - 1]);
            side[i] += there * there, both[i] += here * there;
        }
    }
    return fmax(both[0] / sqrt(own * side[0] + 1e-30), both[1] / sqrt(own * side[1] + 1e-30)) > LEAST;
}

void qb__rings_dead(const qb__rings_how *how, qb__rings_row *row) {
    const size_t n = row->columns, step = (how->large / 2 + COMPARED - 1) / COMPARED, reach = (COMPARED - 1) * step;
    double *change = row->work, *middles = row->spare; /* median of column c, c + step, ... */
    const size_t whole = n > reach ? n - reach : 0;    /* columns for which all of these exist */
    for (size_t c = 0; c < n; c++) change[c] = (double)row->change[c];
    qb__ring_loops_here()->median9(change, step, whole, middles);
    for (size_t c = 2; c + 2 < n; c++) {
        const double left = c > reach ? middles[c - 1 - reach] : median_of_neighbours(change, n, c - 1, step, true),
                     right = c + 1 < whole ? middles[c + 1] : median_of_neighbours(change, n, c + 1, step, false);
        const double own = change[c];
        const bool jumps = own > how->snr * fmax(left, right) && is_rough(row, c) &&
                           !((how->parts & QB__RINGS_MOVES) && is_alike(row, c));
        row->lost[c] = jumps || own * how->snr < fmin(left, right);
    }
}

void qb__rings_bridge(qb__rings_row *row) {
    const size_t columns = row->columns;
    for (size_t c = 0; c < columns; c++) {
        const size_t first = c;
        while (c < columns && row->lost[c]) c++;
        if (c == first || (first == 0 && c == columns)) continue;
        for (size_t v = 0; v < row->views; v++) {
            float *line = row->lines + v * columns;
            const float left = line[first ? first - 1 : c], right = line[c < columns ? c : first - 1];
            for (size_t k = first; k < c; k++)
                line[k] = left + (right - left) * (float)(k - first + 1) / (float)(c - first + 1);
        }
    }
}
