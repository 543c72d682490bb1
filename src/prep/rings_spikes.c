/* SPDX-License-Identifier: MIT */
/* Stripes one column wide, in the mean over all views. Such a column lies off the straight line through the two columns to its
 * left, off that through the two to its right, and off the line between both sides, all by the same amount. The edge of an
 * object that stands still in the sinogram lies off these lines by different signs and is left alone. What the columns around
 * are off is the curvature of the object; its median is taken away first.
 * A stripe is the same in all views. So its mean over all views must exceed its standard error, which the means of blocks of
 * views tell. */
#include <math.h>
#include <string.h>

#include "base/sort.h"
#include "prep/rings.h"

enum { SWEEPS = 8, WORKS = 5 };
static const double ERRORS = 3;  /* standard errors that a stripe must exceed */
static const double AGREE = 1.5; /* the estimate is at most so many times the smallest distance from a line */

size_t qb__rings_work(size_t columns) { return WORKS * columns; }

/* Column c + offset, mirrored at the ends. */
static size_t near(size_t c, ptrdiff_t offset, size_t columns) {
    const ptrdiff_t last = (ptrdiff_t)columns - 1;
    ptrdiff_t at = (ptrdiff_t)c + offset;
    if (at < 0) at = -at;
    if (at > last) at = 2 * last - at;
    return (size_t)(at < 0 ? 0 : at > last ? last : at);
}

/* out[c] = in[c - 1] - 2 in[c] + in[c + 1] */
static void curve(const double *in, size_t columns, double *out) {
    for (size_t c = 0; c < columns; c++) out[c] = in[near(c, -1, columns)] - 2 * in[c] + in[near(c, 1, columns)];
}

/* The height of a single spike at c that fits the curvatures best. */
static double height(const double *curvatures, size_t columns, size_t c) {
    return (curvatures[near(c, -1, columns)] - 2 * curvatures[c] + curvatures[near(c, 1, columns)]) / 6;
}

static double background(const double *curvatures, size_t columns, size_t c) {
    static const ptrdiff_t around[] = {-4, -3, -2, 2, 3, 4};
    double v[6];
    for (int i = 0; i < 6; i++) { /* sorted as they come */
        const double value = curvatures[near(c, around[i], columns)];
        int k = i;
        for (; k > 0 && v[k - 1] > value; k--) v[k] = v[k - 1];
        v[k] = value;
    }
    return 0.5 * (v[2] + v[3]);
}

/* The height of the spike at c as far as all lines agree; 0 where they do not. */
static double spike(const double *curvatures, size_t columns, size_t c) {
    const double fit = height(curvatures, columns, c);
    const double sign = fit < 0 ? -1 : 1;
    const double ground = background(curvatures, columns, c);
    const double left = sign * (curvatures[near(c, -1, columns)] - ground),
                 right = sign * (curvatures[near(c, 1, columns)] - ground),
                 middle = -0.5 * sign * (curvatures[c] - ground);
    const double least = fmin(middle, fmin(left, right));
    return least > 0 ? sign * fmin(fabs(fit), AGREE * least) : 0;
}

/* limit[c]: ERRORS standard errors of a spike's height at c, the largest of those at c and next to it. */
static void limits(const qb__rings_row *row, double *curvatures, double *sums, double *limit) {
    const size_t n = row->columns, blocks = row->blocks;
    double *squares = limit;
    memset(sums, 0, n * sizeof *sums);
    memset(squares, 0, n * sizeof *squares);
    for (size_t b = 0; b < blocks; b++) {
        curve(row->means + b * n, n, curvatures);
        for (size_t c = 0; c < n; c++) {
            const double h = height(curvatures, n, c);
            sums[c] += h;
            squares[c] += h * h;
        }
    }
    const double count = (double)blocks;
    for (size_t c = 0; c < n; c++)
        sums[c] = sqrt(fmax(0, squares[c] - sums[c] * sums[c] / count) / (count * (count - 1)));
    for (size_t c = 0; c < n; c++) limit[c] = ERRORS * fmax(sums[c], fmax(sums[near(c, -1, n)], sums[near(c, 1, n)]));
}

void qb__rings_mean(const qb__rings_row *row, double *mean) {
    const size_t n = row->columns;
    for (size_t c = 0; c < n; c++) {
        double sum = 0;
        for (size_t b = 0; b < row->blocks; b++) sum += row->means[b * n + c];
        mean[c] = sum / (double)row->blocks - row->stripe[c];
    }
}

/* Takes the strongest spike of each neighbourhood off the mean; false when there is none left. before: the stripes at first. */
static bool sweep(qb__rings_row *row, const double *limit, double *mean, double *curvatures, double *found,
                  const double *before) {
    const size_t n = row->columns;
    bool any = false;
    curve(mean, n, curvatures);
    for (size_t c = 0; c < n; c++) found[c] = spike(curvatures, n, c);
    for (size_t c = 0; c < n; c++) {
        bool largest = found[c] != 0 && fabs(row->stripe[c] - before[c] + found[c]) > limit[c];
        for (ptrdiff_t k = -2; largest && k <= 2; k++) largest = fabs(found[c]) >= fabs(found[near(c, k, n)]);
        if (!largest) continue;
        mean[c] -= found[c];
        row->stripe[c] += found[c];
        any = true;
    }
    return any;
}

void qb__rings_spikes(qb__rings_row *row) {
    const size_t n = row->columns;
    double *curvatures = row->work, *found = curvatures + n, *limit = found + n, *mean = limit + n, *before = mean + n;
    if (row->blocks < 4 || n < 8) return;
    limits(row, curvatures, found, limit);
    qb__rings_mean(row, mean);
    memcpy(before, row->stripe, n * sizeof *before);
    for (int i = 0; i < SWEEPS && sweep(row, limit, mean, curvatures, found, before); i++) continue;
}

/* ---- stripes in some views only ---- */

/* deviation[c]: root mean square over the blocks of how much a spike's height at c differs from its median. */
static void deviations(const qb__rings_row *row, double *line, double *curvatures, double *heights, double *deviation) {
    const size_t n = row->columns, blocks = row->blocks;
    for (size_t b = 0; b < blocks; b++) {
        for (size_t c = 0; c < n; c++) line[c] = row->means[b * n + c] - row->stripe[c];
        curve(line, n, curvatures);
        for (size_t c = 0; c < n; c++) heights[b * n + c] = spike(curvatures, n, c);
    }
    for (size_t c = 0; c < n; c++) {
        double of[QB__RINGS_BLOCKS], sum = 0;
        for (size_t b = 0; b < blocks; b++) of[b] = heights[b * n + c];
        const double middle = qb__median(of, blocks);
        for (size_t b = 0; b < blocks; b++) sum += (of[b] - middle) * (of[b] - middle);
        deviation[c] = sqrt(sum / (double)blocks);
    }
}

void qb__rings_partial(const qb__rings_how *how, qb__rings_row *row) {
    const size_t n = row->columns;
    double *curvatures = row->work, *deviation = curvatures + n, *sorted = deviation + n;
    if (row->blocks < 4 || n < 16) return;
    deviations(row, sorted, curvatures, row->spare, deviation);
    memcpy(sorted, deviation, n * sizeof *sorted);
    qb__sort(sorted, n);
    const double most = 2 * how->snr * sorted[(size_t)(0.95 * (double)(n - 1))];
    for (size_t c = 2; c + 2 < n; c++)
        row->lost[c] = row->lost[c] || (deviation[c] > most && qb__rings_is_apart(row, QB__RINGS_APART, c));
}
