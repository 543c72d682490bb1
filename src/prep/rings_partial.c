/* SPDX-License-Identifier: MIT */
/* Columns that are a stripe in some views only. In each block of views the height of a stripe one column wide is
 * measured: such a column deviates by the same amount from the straight line through the two columns to its left, from
 * that through the two to its right, and from the line between both sides. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/sort.h"
#include "cpu/rows/ring_loops.h"
#include "prep/rings.h"

static const double PART = 0.5; /* share of a column's deviation that must vary between blocks */

/* deviation[c]: root mean square over the blocks of a spike's height at c minus its median. kinks has
 * QB__RING_ENDS numbers before and after it. */
static void deviations(const qb__rings_row *row, double *line, double *kinks, double *deviation) {
    const qb__ring_loops *loops = qb__ring_loops_here();
    const size_t n = row->columns, blocks = row->blocks, apart = qb__rings_apart(n);
    for (size_t b = 0; b < blocks; b++) {
        for (size_t c = 0; c < n; c++) line[c] = row->means[b * n + c] - row->stripe[c];
        qb__rings_kinks(line, n, kinks);
        qb__rings_mirror(kinks, n);
        loops->heights(kinks, n, row->spare + b * apart);
    }
    loops->deviations(row->spare, apart, blocks, n, deviation);
    for (size_t c = 0; c < n; c++) deviation[c] = sqrt(deviation[c] / (double)blocks);
}

void qb__rings_partial(const qb__rings_how *how, qb__rings_row *row) {
    const size_t n = row->columns;
    double *kinks = row->work + QB__RING_ENDS, *deviation = row->work + qb__rings_apart(n), *sorted = deviation + n;
    if (row->blocks < 4 || n < 16) return;
    deviations(row, sorted, kinks, deviation);
    memcpy(sorted, deviation, n * sizeof *sorted);
    const double most = 2 * how->snr * qb__sorted_at(sorted, n, (size_t)(0.95 * (double)(n - 1)));
    for (size_t c = 2; c + 2 < n; c++) {
        if (row->lost[c] || deviation[c] <= most) continue;
        const double distance = qb__rings_distance(row, c);
        row->lost[c] = deviation[c] > PART * distance && qb__rings_is_apart(row, QB__RINGS_APART, c, distance);
    }
}
