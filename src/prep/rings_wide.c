/* SPDX-License-Identifier: MIT */
/* Stripes several columns wide, as scintillators with a flaw or two joined detectors leave them. Such a stripe begins with a
 * step in the mean over all views and ends with the opposite one. A step is where the lines through two columns on each side
 * miss each other by nearly the same amount at the first column and at the last, and where the columns farther out are
 * smooth. The edge of an object that stands still in the sinogram rises like a square root: its next columns are not smooth.
 * Both steps must exceed their standard errors, stand out from the other columns, and be of nearly the same height. The stripe is their mean. */
#include <math.h>
#include <string.h>

#include "base/sort.h"
#include "prep/rings.h"

enum { STRIPES = 64 };             /* in a row, at most */
static const double ERRORS = 3;    /* standard errors that a step must exceed */
static const double ALIKE = 0.7;   /* the smaller of two heights, at least so much of the larger */
static const double SMOOTH = 0.35; /* curvature beside a step, at most so much of its height */

/* out[c] = in[c - 1] - 2 in[c] + in[c + 1]; 0 at the ends. */
static void curve(const double *in, size_t columns, double *out) {
    out[0] = out[columns - 1] = 0;
    for (size_t c = 1; c + 1 < columns; c++) out[c] = in[c - 1] - 2 * in[c] + in[c + 1];
}

static bool alike(double a, double b) { return a * b > 0 && fmin(fabs(a), fabs(b)) >= ALIKE * fmax(fabs(a), fabs(b)); }

/* The height of the step between columns c - 1 and c; 0 where there is none. */
static double step_at(const double *curvature, size_t c) {
    const double before = curvature[c - 1], after = -curvature[c], height = 0.5 * (before + after);
    const double next = fmax(fabs(curvature[c - 2]), fabs(curvature[c + 1]));
    return alike(before, after) && next <= SMOOTH * fabs(height) ? height : 0;
}

/* errors[c]: squared standard error of the height of a step between columns c - 1 and c. */
static void square_errors(const qb__rings_row *row, double *curvature, double *sums, double *errors) {
    const size_t n = row->columns;
    const double count = (double)row->blocks;
    memset(sums, 0, n * sizeof *sums);
    memset(errors, 0, n * sizeof *errors);
    for (size_t b = 0; b < row->blocks; b++) {
        curve(row->means + b * n, n, curvature);
        for (size_t c = 1; c < n; c++) {
            const double height = 0.5 * (curvature[c - 1] - curvature[c]);
            sums[c] += height;
            errors[c] += height * height;
        }
    }
    for (size_t c = 0; c < n; c++) errors[c] = fmax(0, errors[c] - sums[c] * sums[c] / count) / (count * (count - 1));
}

/* Raises errors[] to where a step also stands out from those of all columns, `snr` times their median. */
static void raise_errors(double snr, const double *mean, size_t n, double *heights, double *curvature, double *errors) {
    curve(mean, n, curvature);
    heights[0] = 0;
    for (size_t c = 1; c < n; c++) heights[c] = 0.5 * fabs(curvature[c - 1] - curvature[c]);
    const double least = snr / ERRORS * qb__median(heights, n);
    for (size_t c = 0; c < n; c++) errors[c] = fmax(errors[c], least * least);
}

static void find_steps(size_t n, const double *mean, const double *errors, double *curvature, double *steps) {
    curve(mean, n, curvature);
    memset(steps, 0, n * sizeof *steps);
    for (size_t c = 3; c + 3 < n; c++) {
        const double height = step_at(curvature, c);
        if (height * height > ERRORS * ERRORS * errors[c]) steps[c] = height;
    }
}

/* The pair of steps of the greatest height, at most `widest` columns apart: its first column; 0 for none. */
static size_t highest_pair(size_t n, size_t widest, const double *steps, size_t *end, double *height) {
    size_t first = 0;
    *height = 0;
    for (size_t c = 3; c + 3 < n; c++) {
        if (fabs(steps[c]) <= fabs(*height)) continue;
        for (size_t e = c + 2; e <= c + widest && e + 3 < n; e++) {
            if (steps[e] == 0) continue;
            if (alike(steps[c], -steps[e]) && fabs(steps[c] - steps[e]) > 2 * fabs(*height))
                first = c, *end = e, *height = 0.5 * (steps[c] - steps[e]);
            break; /* the next step ends it or does not */
        }
    }
    return first;
}

void qb__rings_wide(const qb__rings_how *how, qb__rings_row *row) {
    const size_t n = row->columns;
    double *curvature = row->work, *errors = curvature + n, *mean = errors + n, *steps = mean + n;
    if (row->blocks < 4 || n < 16) return;
    square_errors(row, curvature, mean, errors);
    qb__rings_mean(row, mean);
    raise_errors(how->snr, mean, n, steps, curvature, errors);
    for (int i = 0; i < STRIPES; i++) {
        size_t end = 0;
        double height;
        find_steps(n, mean, errors, curvature, steps);
        const size_t first = highest_pair(n, how->large / 2, steps, &end, &height);
        if (first == 0) return;
        for (size_t c = first; c < end; c++) {
            mean[c] -= height;
            row->stripe[c] += height;
        }
    }
}
