/* SPDX-License-Identifier: MIT */
/* Stripes several columns wide, as caused by flawed scintillators or two joined detectors. Such a stripe of height h
 * begins with a step: the second differences of the columns before and after it are h and -h. It ends with the opposite
 * step. Second differences and their errors are measured in windows of views, as for narrow stripes (rings_windows.c).
 * All four must show the height, and columns farther out must be smooth. The edge of an object that does not move in
 * the sinogram rises like a square root: its second differences differ, and the next columns are not smooth. */
#include <math.h>
#include <string.h>

#include "base/sort.h"
#include "prep/rings.h"

enum {
    STRIPES = 64,  /* per row, at most */
    NARROWEST = 3, /* columns; two are a pair of narrow stripes */
    OUTSIDE = 2    /* columns on both sides that must be smooth */
};
/* smallest value of each of the four second differences, relative to the height, except for noise */
static const double ALIKE = 0.7;
/* second differences next to a step, at most this share of its height, except for noise */
static const double SMOOTH = 0.35;
static const double CLEARLY = 1.15; /* required ratio of improvements at both ends: without noise it is 4/3 */
static const double NO_PAIR = 0.95; /* the same for two narrow stripes at each end: without noise it is 10/9 */
static const double WIDE = 0.3;     /* a stripe of the greatest width must be higher by this share than a narrow one */
static const double NOISE = 2;      /* standard errors that each may deviate */
static const double CERTAIN = 0.4;  /* largest standard error of each, relative to the height */

typedef struct steps {
    size_t n;
    /* [n] second differences without the stripes found so far, and their standard errors */
    double *kinks, *kink_errors;
    double *errors;        /* [n] standard error of the height of a step between columns c - 1 and c */
    double *left, *ground; /* [n] second differences without the curvature of the object; that curvature */
    double snr;
} steps;

static void measure(const qb__rings_row *row, steps *s) {
    const size_t n = s->n;
    const double all = qb__rings_spread(row->measured[QB__RINGS_STEP], n, s->ground);
    memcpy(s->kink_errors, row->measured[QB__RINGS_KINK_ERROR], n * sizeof(double));
    qb__rings_kinks(row->stripe, n, s->kinks);
    for (size_t c = 0; c < n; c++) {
        const double own = row->measured[QB__RINGS_STEP_ERROR][c];
        s->kinks[c] = row->measured[QB__RINGS_KINK][c] - s->kinks[c];
        s->errors[c] = sqrt(own * own + all * all); /* it stands out from the other columns */
    }
    qb__rings_ground(s->kinks, n, s->ground);
    for (size_t c = 0; c < n; c++) s->left[c] = s->kinks[c] - s->ground[c];
    qb__rings_add_shared(s->kink_errors, n, qb__rings_spread(s->left, n, row->work + 5 * n));
}

static bool is_smooth(const steps *s, size_t c, double height) {
    return fabs(s->left[c]) < SMOOTH * fabs(height) + NOISE * s->kink_errors[c];
}

/* True if the second differences at both ends are better explained by steps than by one narrow stripe or two side by
 * side, comparing the squares that each explains. */
static bool are_steps(const steps *s, size_t first, size_t end) {
    double steps_both = 0, narrow_both = 0, pairs_both = 0;
    for (int i = 0; i < 2; i++) {
        const double *k = s->left + (i ? end : first);
        const double step = k[-1] - k[0], before = k[-2] - 2 * k[-1] + k[0], after = k[-1] - 2 * k[0] + k[1];
        const double by_step = step * step / 2, narrow = fmax(before * before, after * after) / 6;
        const double pair = 0.3 * (before * before + after * after) + 0.4 * before * after;
        if (by_step <= fmax(narrow, NO_PAIR * pair)) return false;
        steps_both += by_step, narrow_both += narrow, pairs_both += pair;
    }
    return steps_both > fmax(CLEARLY * narrow_both, pairs_both);
}

/* True if columns first <= c < end are a stripe of that height. The columns inside a thin one are its edges. */
static bool is_stripe(const qb__rings_row *row, const steps *s, size_t first, size_t end, double height) {
    const double sign = height < 0 ? -1 : 1;
    const size_t at[4] = {first - 1, first, end - 1, end};
    for (int i = 0; i < 4; i++) {
        const double shown = (i % 3 == 0 ? sign : -sign) * s->left[at[i]];
        const double error = s->kink_errors[at[i]];
        if (shown + NOISE * error < ALIKE * fabs(height) || shown <= 0 || error > CERTAIN * fabs(height)) return false;
    }
    for (int i = 1; i < 3; i++)
        if (qb__rings_has_counterpart(row, at[i], height)) return false;
    if (!are_steps(s, first, end)) return false;
    for (size_t i = 1; i <= OUTSIDE; i++)
        if (!is_smooth(s, first - 1 - i, height) || !is_smooth(s, end + i, height)) return false;
    return end - first < 4 || (is_smooth(s, first + 1, height) && is_smooth(s, end - 2, height));
}

/* The highest stripe of at most `widest` columns: its first column; 0 for none. What lies between two
 * stripes looks like a wider one. */
static size_t highest(const qb__rings_row *row, const steps *s, size_t widest, size_t *end, double *height) {
    const size_t n = s->n;
    const double *k = s->left;
    size_t first = 0;
    double most = 0;
    for (size_t c = 3; c + 3 + NARROWEST < n; c++) {
        const double step = 0.5 * (k[c - 1] - k[c]);
        if (fabs(step) < s->snr * s->errors[c]) continue;
        for (size_t e = c + NARROWEST; e <= c + widest && e + 3 < n; e++) {
            const double down = 0.5 * (k[e - 1] - k[e]), mean = 0.5 * (step - down);
            const double high = fabs(mean) * (1 - WIDE * (double)(e - c) / (double)widest);
            if (step * down >= 0 || fabs(down) < s->snr * s->errors[e] || high <= most) continue;
            if (is_stripe(row, s, c, e, mean)) first = c, *end = e, *height = mean, most = high;
        }
    }
    return first;
}

void qb__rings_wide(const qb__rings_how *how, qb__rings_row *row) {
    const size_t n = row->columns;
    double *w = row->work;
    if (row->windows < 4 || n < 16) return;
    steps s = {n, w, w + n, w + 2 * n, w + 3 * n, w + 4 * n, how->snr + 1}; /* there are many pairs */
    measure(row, &s);
    for (int i = 0; i < STRIPES; i++) {
        size_t end = 0;
        double height = 0;
        for (size_t c = 0; c < n; c++) s.left[c] = s.kinks[c];
        qb__rings_ground(s.left, n, s.ground);
        for (size_t c = 0; c < n; c++) s.left[c] -= s.ground[c];
        const size_t first = highest(row, &s, how->large / 2, &end, &height);
        if (first == 0) return;
        row->kinds |= QB__RINGS_LARGE;
        for (size_t c = first; c < end; c++) row->stripe[c] += height;
        s.kinks[first - 1] -= height, s.kinks[first] += height;
        s.kinks[end - 1] += height, s.kinks[end] -= height;
    }
}
