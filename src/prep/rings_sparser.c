/* SPDX-License-Identifier: MIT */
/* Narrow stripes that are close to each other. Some columns with stripes and the columns between and beside them differ
 * only by a curve, which the object may have: two equal stripes side by side look almost as four others around them do.
 * So each group of columns that rings_spikes.c found is compared with all sets of a few columns at the same place.
 * Together with a straight line of second differences, for the object, each set is fitted to the second differences by
 * least squares, and the set is taken that leaves least, where each column counts as COLUMN squared errors. Its heights
 * together are at most those of the group: else a curve that is none of a stripe would be made of high ones. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "prep/rings.h"

enum {
    GAP = 4,    /* columns of a group are at most so far apart */
    SIDE = 1,   /* columns beside a group that are tried, too */
    AROUND = 3, /* second differences on each side of these columns that must be explained, too */
    MOST = 18,  /* columns that are tried */
    SET = 4,    /* columns of a set, at most */
    EDGE = 10,  /* columns at both ends of a row where groups stay: walls of tubes that turn about their axis */
    LINE = 2,   /* numbers of the straight line */
    UNKNOWN = MOST + LINE
};
static const double COLUMN = 5; /* squared errors */

/* Normal equations of all columns that are tried and of the line, which comes first. */
typedef struct normal {
    size_t columns;
    double of[UNKNOWN][UNKNOWN], right[UNKNOWN];
} normal;

/* others: heights found in other columns. */
static void set_up(const double *kinks, const double *errors, const double *others, size_t n, size_t first,
                   size_t columns, normal *to) {
    const size_t row0 = first - qb__smaller(first, AROUND), row1 = qb__smaller(n, first + columns + AROUND);
    *to = (normal){.columns = columns};
    for (size_t r = row0; r < row1; r++) {
        double own[UNKNOWN] = {1, ((double)r - 0.5 * (double)(row0 + row1 - 1)) / (double)(row1 - row0)};
        for (size_t k = 0; k < columns; k++) {
            const size_t c = first + k;
            own[LINE + k] = c == r ? -2 : c + 1 == r || c == r + 1 ? 1 : 0;
        }
        const double weight = 1 / (errors[r] * errors[r] + 1e-16);
        const double kink = kinks[r] - qb__rings_kink(others, n, r);
        for (size_t i = 0; i < LINE + columns; i++) {
            to->right[i] += weight * own[i] * kink;
            for (size_t k = 0; k < LINE + columns; k++) to->of[i][k] += weight * own[i] * own[k];
        }
    }
}

/* A set of columns and the decomposition of its normal equations by Cholesky. */
typedef struct fit {
    const normal *in;
    double l[UNKNOWN][UNKNOWN], y[UNKNOWN];
    size_t column[MOST];
    double highest; /* most that the heights of a set may add up to */
    /* of the best set so far: */
    double worth, heights[SET];
    size_t best[SET], count;
} fit;

/* Adds an unknown as the i-th one: returns the squares that it explains. It explains none if it depends on the others. */
static double add(fit *f, size_t i, size_t unknown) {
    const double *of = f->in->of[unknown];
    double *l = f->l[i], y = f->in->right[unknown], square = of[unknown];
    for (size_t k = 0; k < i; k++) {
        l[k] = of[k < LINE ? k : LINE + f->column[k - LINE]];
        for (size_t m = 0; m < k; m++) l[k] -= l[m] * f->l[k][m];
        l[k] /= f->l[k][k];
        square -= l[k] * l[k];
        y -= l[k] * f->y[k];
    }
    l[i] = sqrt(fmax(square, 1e-9 * of[unknown]));
    f->y[i] = y / l[i];
    return square > 1e-9 * of[unknown] ? f->y[i] * f->y[i] : 0;
}

/* Keeps the set of the first `count` columns unless its heights add up to too much. */
static void keep(fit *f, size_t count, double worth) {
    double heights[UNKNOWN], all = 0;
    for (size_t i = LINE + count; i-- > LINE;) {
        heights[i] = f->y[i];
        for (size_t m = i + 1; m < LINE + count; m++) heights[i] -= f->l[m][i] * heights[m];
        heights[i] /= f->l[i][i];
        all += fabs(heights[i]);
    }
    if (all > f->highest) return;
    f->worth = worth, f->count = count;
    memcpy(f->heights, heights + LINE, count * sizeof *heights);
    memcpy(f->best, f->column, count * sizeof *f->best);
}

/* All sets of the first `count` columns and more, from column `first` on. They explain so much so far. */
static void try_all(fit *f, size_t count, size_t first, double explained) {
    for (size_t c = first; c < f->in->columns; c++) {
        f->column[count] = c;
        const double sum = explained + add(f, LINE + count, LINE + c);
        const double worth = sum - COLUMN * (double)(count + 1);
        if (worth > f->worth) keep(f, count + 1, worth);
        if (count + 1 < SET) try_all(f, count + 1, c + 1, sum);
    }
}

/* Replaces the heights of a group if a set is better. */
static void improve(const double *kinks, const double *errors, size_t n, size_t first, size_t columns, double *found) {
    double before[MOST], line = 0;
    size_t count = 0;
    normal all;
    fit f = {.in = &all};
    memcpy(before, found + first, columns * sizeof *before);
    memset(found + first, 0, columns * sizeof *found);
    set_up(kinks, errors, found, n, first, columns, &all);
    for (size_t i = 0; i < LINE; i++) line += add(&f, i, i);
    f.worth = line;
    for (size_t c = 0; c < columns; c++) {
        if (before[c] == 0) continue;
        f.highest += fabs(before[c]);
        f.column[count] = c;
        f.worth += add(&f, LINE + count++, LINE + c) - COLUMN;
    }
    try_all(&f, 0, 0, line);
    if (f.count == 0) memcpy(found + first, before, columns * sizeof *found);
    for (size_t k = 0; k < f.count; k++) found[first + f.best[k]] = f.heights[k];
}

void qb__rings_sparser(const double *kinks, const double *errors, size_t n, double *found) {
    for (size_t c = 0; c < n;) {
        if (found[c] == 0) {
            c++;
            continue;
        }
        size_t last = c, members = 1;
        for (size_t k = c + 1; k < n && k <= last + GAP; k++)
            if (found[k] != 0) last = k, members++;
        const size_t first = c - qb__smaller(c, SIDE), end = qb__smaller(n, last + SIDE + 1);
        if (members > 1 && end - first <= MOST && first >= EDGE && end + EDGE <= n)
            improve(kinks, errors, n, first, end - first, found);
        c = last + 1 + GAP;
    }
}
