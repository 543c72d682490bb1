/* SPDX-License-Identifier: MIT */
/* Confirms columns that seem lost. A column of an object follows the line between its neighbours about as well as these
 * follow theirs, in every view. A column without a usable signal, frozen or fluctuating, does not. A constant
 * difference is a stripe, not a loss. So the criterion is the standard deviation over the views of a column's distance
 * from that line. */
#include <math.h>
#include <string.h>

#include "prep/rings.h"

enum { COMPARED = 3 }; /* columns on each side */
/* In line integrals: steps of counts are smaller, and a loss of this size has no effect. */
static const double LEAST = 3e-3;

/* The next column that is not marked; `columns` if there is none. */
static size_t next_good(const qb__rings_row *row, size_t c, bool left) {
    do c = left ? c - 1 : c + 1; /* left of column 0 wraps to a large number */
    while (c < row->columns && row->lost[c]);
    return c < row->columns ? c : row->columns;
}

double qb__rings_distance(const qb__rings_row *row, size_t c) {
    const size_t n = row->columns, left = next_good(row, c, true), right = next_good(row, c, false);
    double sum = 0, square = 0;
    if (left == n || right == n) return 0;
    const float part = (float)(c - left) / (float)(right - left);
    for (size_t v = 0; v < row->views; v++) {
        const float *line = row->lines + v * n;
        const double off = (double)(line[c] - (1 - part) * line[left] - part * line[right]);
        sum += off, square += off * off;
    }
    const double count = (double)row->views;
    return sqrt(fmax(0, square - sum * sum / count) / count);
}

/* The largest distance of the nearest good columns. */
static double usual(const qb__rings_row *row, size_t c) {
    double most = 0;
    for (int side = 0; side < 2; side++) {
        size_t at = c;
        for (int i = 0; i < COMPARED && (at = next_good(row, at, side == 0)) < row->columns; i++)
            most = fmax(most, qb__rings_distance(row, at));
    }
    return most;
}

bool qb__rings_is_apart(const qb__rings_row *row, double times, size_t c) {
    const double own = qb__rings_distance(row, c);
    return own > LEAST && own > times * usual(row, c);
}

void qb__rings_confirm(double times, qb__rings_row *row) {
    const size_t n = row->columns;
    bool *kept = row->doubt;
    for (size_t c = 0; c < n; c++) kept[c] = row->lost[c] && qb__rings_is_apart(row, times, c);
    memcpy(row->lost, kept, n * sizeof *kept);
}
