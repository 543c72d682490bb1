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

/* A column, and the line between its good neighbours. */
typedef struct apart {
    size_t column, left, right;
    float part;
    double sum, square;
} apart;

/* False if there is no such line. */
static bool begin(const qb__rings_row *row, size_t c, apart *a) {
    const size_t n = row->columns, left = next_good(row, c, true), right = next_good(row, c, false);
    if (left == n || right == n) return false;
    *a = (apart){c, left, right, (float)(c - left) / (float)(right - left), 0, 0};
    return true;
}

/* Sums up some columns view by view: the values of a view are close to each other. */
static void add_up(const qb__rings_row *row, apart *of, size_t count) {
    for (size_t v = 0; v < row->views; v++) {
        const float *line = row->lines + v * row->columns;
        for (size_t i = 0; i < count; i++) {
            const apart *a = &of[i];
            const double off = (double)(line[a->column] - (1 - a->part) * line[a->left] - a->part * line[a->right]);
            of[i].sum += off, of[i].square += off * off;
        }
    }
}

static double distance_of(const qb__rings_row *row, const apart *a) {
    const double views = (double)row->views;
    return sqrt(fmax(0, a->square - a->sum * a->sum / views) / views);
}

double qb__rings_distance(const qb__rings_row *row, size_t c) {
    apart own;
    if (!begin(row, c, &own)) return 0;
    add_up(row, &own, 1);
    return distance_of(row, &own);
}

/* Several searches ask for the same columns. Good columns do not change between them, so a distance stays as long as the
 * columns beside it are the same. */
void qb__rings_distances(qb__rings_row *row, const double *of, double *distance) {
    apart *list = (apart *)row->spare;
    size_t count = 0;
    for (size_t c = 0; c < row->columns; c++) {
        const double *known = row->known + 3 * c;
        distance[c] = 0;
        if (of[c] == 0 || !begin(row, c, &list[count])) continue;
        if (!row->lost[c] && known[1] == (double)list[count].left && known[2] == (double)list[count].right)
            distance[c] = known[0];
        else
            count++;
    }
    add_up(row, list, count);
    for (size_t i = 0; i < count; i++) {
        const apart *a = &list[i];
        double *known = row->known + 3 * a->column;
        distance[a->column] = known[0] = distance_of(row, a);
        known[1] = row->lost[a->column] ? 0 : (double)a->left, known[2] = (double)a->right;
    }
}

/* The largest distance of the nearest good columns. */
static double usual(const qb__rings_row *row, size_t c) {
    apart of[2 * COMPARED];
    size_t count = 0;
    double most = 0;
    for (int side = 0; side < 2; side++) {
        size_t at = c;
        for (int i = 0; i < COMPARED && (at = next_good(row, at, side == 0)) < row->columns; i++)
            count += begin(row, at, &of[count]);
    }
    add_up(row, of, count);
    for (size_t i = 0; i < count; i++) most = fmax(most, distance_of(row, &of[i]));
    return most;
}

bool qb__rings_is_apart(const qb__rings_row *row, double times, size_t c, double own) {
    return own > LEAST && own > times * usual(row, c);
}

void qb__rings_confirm(double times, qb__rings_row *row) {
    const size_t n = row->columns;
    bool *kept = row->doubt;
    for (size_t c = 0; c < n; c++)
        kept[c] = row->lost[c] && qb__rings_is_apart(row, times, c, qb__rings_distance(row, c));
    memcpy(row->lost, kept, n * sizeof *kept);
}
