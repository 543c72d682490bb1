/* SPDX-License-Identifier: MIT */
/* Means over overlapping windows of views, each weighted by a raised cosine: what moves across a column in that time leaves next
 * to nothing of itself, since the window has no edges; a stripe stays as it is. */
#include <math.h>
#include <string.h>

#include "base/sort.h"
#include "prep/rings.h"

enum { GROUND = 9 };
static const double SHARED = 0.3; /* of the spread over the columns, added to each column's error */

size_t qb__rings_mirrored(ptrdiff_t at, size_t n) {
    const ptrdiff_t last = (ptrdiff_t)n - 1;
    if (last < 1) return 0;
    while (at < 0 || at > last) at = at < 0 ? -at : 2 * last - at;
    return (size_t)at;
}

double qb__rings_kink(const double *in, size_t n, size_t c) {
    return in[c > 0 ? c - 1 : 1] - 2 * in[c] + in[c + 1 < n ? c + 1 : n - 2];
}

/* A stripe may drift: its trend is taken off before what is spread around it. Of pairs of values half the list apart, the median. */
static void less_trend(double *values, size_t count) {
    double steps[QB__RINGS_WINDOWS];
    const size_t apart = count / 2, pairs = count - apart;
    for (size_t i = 0; i < pairs; i++) steps[i] = values[i + apart] - values[i];
    qb__sort(steps, pairs);
    const double slope = 0.5 * (steps[(pairs - 1) / 2] + steps[pairs / 2]) / (double)apart;
    for (size_t i = 0; i < count; i++) values[i] -= slope * ((double)i - 0.5 * (double)(count - 1));
}

/* Mean of the middle three fifths of count values, which stand in the order of the views. error: its standard error, by their median distance from the median. */
static double middle(double *values, size_t count, double *error) {
    const size_t cut = count / 5;
    double sum = 0;
    less_trend(values, count);
    qb__sort(values, count);
    for (size_t i = cut; i < count - cut; i++) sum += values[i];
    const double median = 0.5 * (values[(count - 1) / 2] + values[count / 2]);
    for (size_t i = 0; i < count; i++) values[i] = fabs(values[i] - median);
    qb__sort(values, count);
    /* 1.48 median distances are a standard deviation; overlapping windows hold half as many independent views */
    *error = 1.48 * values[count / 2] * sqrt(3.6 / (double)count);
    return sum / (double)(count - 2 * cut);
}

/* out[c] = median of in[c - 4 .. c + 4], mirrored at the ends. */
void qb__rings_ground(const double *in, size_t n, double *out) {
    const ptrdiff_t last = (ptrdiff_t)n - 1;
    for (ptrdiff_t c = 0; c <= last; c++) {
        double window[GROUND];
        for (ptrdiff_t i = 0; i < GROUND; i++) {
            ptrdiff_t at = c + i - GROUND / 2;
            if (at < 0) at = -at;
            if (at > last) at = 2 * last - at;
            window[i] = in[at];
        }
        qb__sort(window, GROUND);
        out[c] = window[GROUND / 2];
    }
}

double qb__rings_spread(const double *values, size_t n, double *scratch) {
    for (size_t c = 0; c < n; c++) scratch[c] = fabs(values[c]);
    return 1.48 * qb__median(scratch, n);
}

void qb__rings_add_shared(double *errors, size_t n, double all) {
    for (size_t c = 0; c < n; c++) errors[c] = hypot(errors[c], SHARED * all);
}

static void measure(qb__rings_row *row) {
    const size_t n = row->columns, windows = row->windows;
    double values[QB__RINGS_WINDOWS], *const *m = row->measured, *kinks = row->spare;
    for (size_t w = 0; w < windows; w++)
        for (size_t c = 0; c < n; c++) kinks[w * n + c] = qb__rings_kink(row->window + w * n, n, c);
    for (size_t c = 0; c < n; c++) {
        for (size_t w = 0; w < windows; w++) values[w] = kinks[w * n + c];
        m[QB__RINGS_KINK][c] = middle(values, windows, &m[QB__RINGS_KINK_ERROR][c]);
        for (size_t w = 0; w < windows; w++) values[w] = qb__rings_kink(kinks + w * n, n, c) / 6;
        m[QB__RINGS_HEIGHT][c] = middle(values, windows, &m[QB__RINGS_HEIGHT_ERROR][c]);
        for (size_t w = 0; w < windows; w++) values[w] = c > 0 ? 0.5 * (kinks[w * n + c - 1] - kinks[w * n + c]) : 0;
        m[QB__RINGS_STEP][c] = middle(values, windows, &m[QB__RINGS_STEP_ERROR][c]);
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
