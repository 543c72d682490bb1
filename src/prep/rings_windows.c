/* SPDX-License-Identifier: MIT */
/* Means over overlapping windows of views, weighted by raised cosines: structure that moves across a column in that
 * time vanishes almost completely, because the window has no edges; a stripe stays unchanged. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/sort.h"
#include "cpu/features.h"
#include "cpu/rows/sort_lanes.h"
#include "prep/rings.h"

enum { GROUND = 9, LANES = QB__SORT_LANES };
static const double SHARED = 0.3; /* share of the spread over the columns that is added to each column's error */

size_t qb__rings_mirrored(ptrdiff_t at, size_t n) {
    const ptrdiff_t last = (ptrdiff_t)n - 1;
    if (last < 1) return 0;
    while (at < 0 || at > last) at = at < 0 ? -at : 2 * last - at;
    return (size_t)at;
}

double qb__rings_kink(const double *in, size_t n, size_t c) {
    return in[c > 0 ? c - 1 : 1] - 2 * in[c] + in[c + 1 < n ? c + 1 : n - 2];
}

/* A stripe may drift: its trend is removed before the spread around it is computed. The trend is the median over pairs
 * of values half the list apart. */
static void less_trend(double (*values)[LANES], size_t count) {
    const qb__sort_lanes *sort = qb__sort_lanes_choose(qb__cpu_features());
    double steps[QB__RINGS_WINDOWS][LANES];
    const size_t apart = count / 2, pairs = count - apart;
    for (size_t i = 0; i < pairs; i++)
        for (int l = 0; l < LANES; l++) steps[i][l] = values[i + apart][l] - values[i][l];
    sort->doubles(steps, pairs);
    for (int l = 0; l < LANES; l++) {
        const double slope = 0.5 * (steps[(pairs - 1) / 2][l] + steps[pairs / 2][l]) / (double)apart;
        for (size_t i = 0; i < count; i++) values[i][l] -= slope * ((double)i - 0.5 * (double)(count - 1));
    }
}

/* Per lane: the mean of the middle three fifths of count values, which are in the order of the views. error: its
 * standard error, from their median distance from the median. */
static void middles(double (*values)[LANES], size_t count, double *middle, double *error) {
    const qb__sort_lanes *sort = qb__sort_lanes_choose(qb__cpu_features());
    const size_t cut = count / 5;
    double sum[LANES] = {0};
    less_trend(values, count);
    sort->doubles(values, count);
    for (size_t i = cut; i < count - cut; i++)
        for (int l = 0; l < LANES; l++) sum[l] += values[i][l];
    for (int l = 0; l < LANES; l++) {
        const double median = 0.5 * (values[(count - 1) / 2][l] + values[count / 2][l]);
        for (size_t i = 0; i < count; i++) values[i][l] = fabs(values[i][l] - median);
        middle[l] = sum[l] / (double)(count - 2 * cut);
    }
    sort->doubles(values, count);
    /* 1.48 median distances are a standard deviation; overlapping windows are half as many independent views */
    for (int l = 0; l < LANES; l++) error[l] = 1.48 * values[count / 2][l] * sqrt(3.6 / (double)count);
}

/* out[c] = median of in[c - 4 .. c + 4], mirrored at the ends, for columns first <= c < end. */
void qb__rings_ground_of(const double *in, size_t n, size_t first, size_t end, double *out) {
    const qb__sort_lanes *sort = qb__sort_lanes_choose(qb__cpu_features());
    const ptrdiff_t last = (ptrdiff_t)n - 1;
    for (ptrdiff_t c = (ptrdiff_t)first; c < (ptrdiff_t)end; c += LANES) {
        const bool inside = c >= GROUND / 2 && c + LANES + GROUND / 2 <= (ptrdiff_t)n;
        double window[GROUND][LANES];
        for (ptrdiff_t i = 0; i < GROUND; i++) {
            if (inside) {
                memcpy(window[i], in + c + i - GROUND / 2, sizeof window[i]);
                continue;
            }
            for (ptrdiff_t l = 0; l < LANES; l++) {
                ptrdiff_t at = c + l + i - GROUND / 2;
                if (at < 0) at = -at;
                if (at > last) at = 2 * last - at;
                window[i][l] = in[at > 0 ? at : 0]; /* lanes beyond the last are not used */
            }
        }
        sort->doubles(window, GROUND);
        memcpy(out + c, window[GROUND / 2], qb__smaller(LANES, end - (size_t)c) * sizeof *out);
    }
}

void qb__rings_ground(const double *in, size_t n, double *out) { qb__rings_ground_of(in, n, 0, n, out); }

double qb__rings_spread(const double *values, size_t n, double *scratch) {
    for (size_t c = 0; c < n; c++) scratch[c] = fabs(values[c]);
    return 1.48 * qb__middle(scratch, n);
}

void qb__rings_add_shared(double *errors, size_t n, double all) {
    for (size_t c = 0; c < n; c++) errors[c] = hypot(errors[c], SHARED * all);
}

/* For existing columns c to c + LANES - 1, the value of `of` for window w and a column. */
static void measure_lanes(const qb__rings_row *row, size_t c, double (*of)(const double *kinks, size_t n, size_t c),
                          double *to, double *error) {
    const size_t n = row->columns, many = qb__smaller(LANES, n - c);
    double values[QB__RINGS_WINDOWS][LANES], middle[LANES], errors[LANES];
    for (size_t w = 0; w < row->windows; w++)
        for (size_t l = 0; l < LANES; l++) values[w][l] = of(row->spare + w * n, n, l < many ? c + l : c);
    middles(values, row->windows, middle, errors);
    memcpy(to + c, middle, many * sizeof *to);
    memcpy(error + c, errors, many * sizeof *error);
}

static double kink_of(const double *kinks, size_t n, size_t c) { return (void)n, kinks[c]; }
static double height_of(const double *kinks, size_t n, size_t c) { return qb__rings_kink(kinks, n, c) / 6; }
static double step_of(const double *kinks, size_t n, size_t c) {
    return (void)n, c > 0 ? 0.5 * (kinks[c - 1] - kinks[c]) : 0;
}

/* The object's mean second difference, as a median over 9 columns. */
static void measure_structure(qb__rings_row *row) {
    const size_t n = row->columns;
    double *mean = row->spare;
    memset(mean, 0, n * sizeof *mean);
    for (size_t v = 0; v < row->views; v++) {
        const float *line = row->lines + v * n;
        for (size_t c = 1; c + 1 < n; c++) mean[c] += (double)fabsf(line[c - 1] - 2 * line[c] + line[c + 1]);
    }
    mean[0] = mean[1], mean[n - 1] = mean[n - 2];
    qb__rings_ground(mean, n, row->measured[QB__RINGS_STRUCTURE]);
    for (size_t c = 0; c < n; c++) row->measured[QB__RINGS_STRUCTURE][c] /= (double)row->views;
}

static void measure(qb__rings_row *row) {
    const size_t n = row->columns;
    double *const *m = row->measured;
    measure_structure(row);
    for (size_t w = 0; w < row->windows; w++)
        for (size_t c = 0; c < n; c++) row->spare[w * n + c] = qb__rings_kink(row->window + w * n, n, c);
    for (size_t c = 0; c < n; c += LANES) {
        measure_lanes(row, c, kink_of, m[QB__RINGS_KINK], m[QB__RINGS_KINK_ERROR]);
        measure_lanes(row, c, height_of, m[QB__RINGS_HEIGHT], m[QB__RINGS_HEIGHT_ERROR]);
        measure_lanes(row, c, step_of, m[QB__RINGS_STEP], m[QB__RINGS_STEP_ERROR]);
    }
}

void qb__rings_block_means(qb__rings_row *row) {
    const size_t n = row->columns, blocks = row->blocks;
    memset(row->means, 0, blocks * n * sizeof *row->means);
    for (size_t b = 0; b < blocks; b++) {
        double *mean = row->means + b * n;
        const size_t first = b * row->views / blocks, end = (b + 1) * row->views / blocks;
        for (size_t v = first; v < end; v++)
            for (size_t c = 0; c < n; c++) mean[c] += (double)row->lines[v * n + c];
        for (size_t c = 0; c < n; c++) mean[c] /= (double)(end - first);
    }
}

void qb__rings_windows(qb__rings_row *row) {
    const size_t n = row->columns;
    const double half = (double)(row->views - 1) / (double)(row->windows + 1);
    memset(row->window, 0, row->windows * n * sizeof *row->window);
    for (size_t w = 0; w < row->windows; w++) {
        const double centre = half * (double)(w + 1);
        double *mean = row->window + w * n, sum = 0;
        for (size_t v = 0; v < row->views; v++) {
            const double far = fabs((double)v - centre) / half;
            if (far >= 1) continue;
            const double weight = 0.5 + 0.5 * cos(M_PI * far);
            const float *line = row->lines + v * n;
            sum += weight;
            for (size_t c = 0; c < n; c++) mean[c] += weight * (double)line[c];
        }
        for (size_t c = 0; c < n; c++) mean[c] /= sum;
    }
    if (row->windows >= 4) measure(row);
}
