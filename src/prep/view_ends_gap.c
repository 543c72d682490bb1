/* SPDX-License-Identifier: MIT */
/* Estimates the number of steps between the last view and the first one. Groups of views on both sides have means and
 * slopes. The difference of two means divided by the slope is the distance of the groups; groups on one side, with a
 * known distance, calibrate this. Means and slopes of one group have independent noise, and so have different groups,
 * so noise causes no bias. */
#include <math.h>

#include "prep/view_ends_parts.h"

/* Sums of products over a part of a row. */
enum { OVER_ENDS, SLOPES_ENDS, OVER_ONE, SLOPES_ONE, SUMS };

/* Mean, and slope in the direction of the turn, of `count` views from `first` of one side on. */
static void group(const qb__ends_look *l, bool last, size_t first, size_t count, float *mean, float *slope) {
    const size_t size = l->rows * l->bins;
    const double middle = 0.5 * ((double)count - 1), n = (double)count, square = n * (n * n - 1) / 12;
    for (size_t at = 0; at < size; at++) mean[at] = slope[at] = 0;
    for (size_t i = 0; i < count; i++) {
        const float *line = l->line + ((last ? l->near : 0) + first + i) * size;
        const float lever = (float)((last ? middle - (double)i : (double)i - middle) / square);
        for (size_t at = 0; at < size; at++) {
            mean[at] += line[at] / (float)count;
            slope[at] += lever * line[at];
        }
    }
}

/* Add the products of two groups; a, b: means, then slopes. Group a is `distance` farther in the direction of the
 * turn. */
static void add(const qb__ends_look *l, float *const a[2], float *const b[2], float *scratch, double (*sums)[SUMS],
                int kind) {
    const size_t size = l->rows * l->bins, wide = l->to - l->from;
    for (size_t at = 0; at < size; at++) scratch[at] = a[0][at] - b[0][at];
    qb__ends_without_shift(l, scratch);
    for (size_t r = 0; r < l->rows; r++)
        for (size_t p = 0; p < QB__ENDS_PARTS; p++) {
            double *s = sums[r * QB__ENDS_PARTS + p];
            for (size_t c = l->from + p * wide / QB__ENDS_PARTS; c < l->from + (p + 1) * wide / QB__ENDS_PARTS; c++) {
                const size_t at = r * l->bins + c;
                s[kind] += 0.5 * (double)scratch[at] * ((double)a[1][at] + (double)b[1][at]);
                s[kind + 1] += (double)a[1][at] * (double)b[1][at];
            }
        }
}

/* Steps between the ends, from the sums without one part. NAN: slopes do not continue. */
static double steps_of(const double total[SUMS], const double but[SUMS], double count) {
    const double LEAST = 0.8, MOST = 1.5; /* relative to the known distance */
    double s[SUMS];
    for (int i = 0; i < SUMS; i++) s[i] = total[i] - (but ? but[i] : 0);
    if (!(s[SLOPES_ENDS] > 0) || !(s[SLOPES_ONE] > 0)) return NAN;
    const double one = s[OVER_ONE] / s[SLOPES_ONE] / count;
    if (!(one > LEAST) || !(one < MOST)) return NAN;
    return s[OVER_ENDS] / s[SLOPES_ENDS] / one - (count - 1);
}

qb__ends_gap qb__ends_take_gap(const qb__ends_look *l, size_t count) {
    const qb__ends_gap unknown = {.error = INFINITY};
    const size_t parts = l->rows * QB__ENDS_PARTS;
    double sums[QB__ENDS_ROWS * QB__ENDS_PARTS][SUMS] = {{0}}, total[SUMS] = {0}, square = 0;
    float *const near[2][2] = {{l->part[1], l->part[2]}, {l->part[3], l->part[4]}}, *const far[2] = {l->part[5],
                                                                                                     l->part[6]};
    for (int last = 0; last < 2; last++) {
        group(l, last, 0, count, near[last][0], near[last][1]);
        qb__ends_without_shift(l, near[last][1]);
    }
    add(l, near[0], near[1], l->part[0], sums, OVER_ENDS);
    for (int last = 0; last < 2; last++) {
        group(l, last, count, count, far[0], far[1]);
        qb__ends_without_shift(l, far[1]);
        add(l, last ? near[1] : far, last ? far : near[0], l->part[0], sums, OVER_ONE);
    }
    for (size_t p = 0; p < parts; p++)
        for (int i = 0; i < SUMS; i++) total[i] += sums[p][i];
    const double steps = steps_of(total, NULL, (double)count);
    for (size_t p = 0; p < parts; p++) {
        const double without = steps_of(total, sums[p], (double)count);
        square += (without - steps) * (without - steps);
    }
    return isfinite(square) ? (qb__ends_gap){.steps = steps, .error = sqrt(square)} : unknown;
}
