/* SPDX-License-Identifier: MIT */
/* Columns that are a stripe in some views only. In each block of views the height of a stripe one column wide is
 * measured: such a column deviates by the same amount from the straight line through the two columns to its left, from
 * that through the two to its right, and from the line between both sides. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/sort.h"
#include "cpu/features.h"
#include "cpu/rows/sort_lanes.h"
#include "prep/rings.h"

enum { AROUND = 6, LANES = QB__SORT_LANES };
static const double PART = 0.5;  /* share of a column's deviation that must vary between blocks */
static const double AGREE = 1.5; /* the estimate is at most this factor times the smallest distance from a line */

/* The height of a single spike at c that fits the curvatures best. */
static double height(const double *curvatures, size_t columns, size_t c) {
    return qb__rings_kink(curvatures, columns, c) / 6;
}

/* ground[c]: the median of the curvatures of three columns on each side, without those next to c. */
static void make_ground(const double *curvatures, size_t columns, double *ground) {
    static const ptrdiff_t around[AROUND] = {-4, -3, -2, 2, 3, 4};
    const qb__sort_lanes *sort = qb__sort_lanes_choose(qb__cpu_features());
    for (size_t c = 0; c < columns; c += LANES) {
        double v[AROUND][LANES];
        for (int i = 0; i < AROUND; i++)
            for (size_t l = 0; l < LANES; l++) {
                const ptrdiff_t at = (ptrdiff_t)qb__smaller(c + l, columns - 1) + around[i];
                v[i][l] = curvatures[at >= 0 && at < (ptrdiff_t)columns ? (size_t)at : qb__rings_mirrored(at, columns)];
            }
        sort->doubles(v, AROUND);
        for (size_t l = 0; l < LANES && c + l < columns; l++) ground[c + l] = 0.5 * (v[2][l] + v[3][l]);
    }
}

/* The height of the spike at c on which all lines agree; 0 if they do not. */
static double spike(const double *curvatures, size_t columns, size_t c, double ground) {
    const double fit = height(curvatures, columns, c);
    const double sign = fit < 0 ? -1 : 1;
    const double left = sign * (curvatures[qb__rings_mirrored((ptrdiff_t)c - 1, columns)] - ground),
                 right = sign * (curvatures[qb__rings_mirrored((ptrdiff_t)c + 1, columns)] - ground),
                 middle = -0.5 * sign * (curvatures[c] - ground);
    const double least = fmin(middle, fmin(left, right));
    return least > 0 ? sign * fmin(fabs(fit), AGREE * least) : 0;
}

/* deviation[c]: root mean square over the blocks of a spike's height at c minus its median. */
static void deviations(const qb__rings_row *row, double *line, double *curvatures, double *heights, double *deviation) {
    const qb__sort_lanes *sort = qb__sort_lanes_choose(qb__cpu_features());
    const size_t n = row->columns, blocks = row->blocks;
    for (size_t b = 0; b < blocks; b++) {
        for (size_t c = 0; c < n; c++) line[c] = row->means[b * n + c] - row->stripe[c];
        for (size_t c = 0; c < n; c++) curvatures[c] = qb__rings_kink(line, n, c);
        make_ground(curvatures, n, line);
        for (size_t c = 0; c < n; c++) heights[b * n + c] = spike(curvatures, n, c, line[c]);
    }
    for (size_t c = 0; c < n; c += LANES) {
        double of[QB__RINGS_BLOCKS][LANES], sum[LANES] = {0};
        const size_t many = qb__smaller(LANES, n - c);
        for (size_t b = 0; b < blocks; b++)
            for (size_t l = 0; l < LANES; l++) of[b][l] = heights[b * n + c + (l < many ? l : 0)];
        sort->doubles(of, blocks);
        for (size_t l = 0; l < LANES; l++) {
            const double middle = 0.5 * (of[(blocks - 1) / 2][l] + of[blocks / 2][l]);
            for (size_t b = 0; b < blocks; b++) sum[l] += (of[b][l] - middle) * (of[b][l] - middle);
        }
        for (size_t l = 0; l < many; l++) deviation[c + l] = sqrt(sum[l] / (double)blocks);
    }
}

void qb__rings_partial(const qb__rings_how *how, qb__rings_row *row) {
    const size_t n = row->columns;
    double *curvatures = row->work, *deviation = curvatures + n, *sorted = deviation + n;
    if (row->blocks < 4 || n < 16) return;
    deviations(row, sorted, curvatures, row->spare, deviation);
    memcpy(sorted, deviation, n * sizeof *sorted);
    const double most = 2 * how->snr * qb__sorted_at(sorted, n, (size_t)(0.95 * (double)(n - 1)));
    for (size_t c = 2; c + 2 < n; c++)
        row->lost[c] = row->lost[c] || (deviation[c] > most && deviation[c] > PART * qb__rings_distance(row, c) &&
                                        qb__rings_is_apart(row, QB__RINGS_APART, c));
}
