/* SPDX-License-Identifier: MIT */
/* Stripes one column wide. Such a stripe changes the second differences of three adjacent columns by 1, -2 and 1 times
 * its height. The object's second differences are measured in overlapping windows of views (rings_windows.c): they vary
 * from window to window, a stripe does not. The mean of the middle windows excludes structure that does not move in a
 * few of them, and their spread gives each column its own standard error.
 *
 * Columns are processed one by one. A column is a stripe if the best fitting height
 *   exceeds ERRORS standard errors and a part of the object's own second differences,
 *   is the largest of its neighbourhood, and
 *   is found equally on the left, on the right and in the middle, within the noise. The edge of an object that does not
 *   move in the sinogram deviates by different amounts and is not changed.
 * After each sweep all heights found so far are fitted together, and columns next to a stripe are tried as a pair with
 * it. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/sort.h"
#include "prep/rings.h"

enum {
    SWEEPS = 24 /* largest number of sweeps */,
    MOST_ALIKE = 3 /* stripes side by side with the same sign in a row that has many */,
    SURE_PART = 50 /* a row with sure stripes in 1 of SURE_PART columns has many */,
    SURE_PART_SOFT = 128, /* the same after a filter */
    SURE_LEAST = 2,
    FITS = 12,
    FEW_RISES = 192, /* columns: in fewer, a stripe at an edge that stands still stays */
    WORKS = 13
};
static const double ERRORS = 3; /* standard errors that a stripe must exceed */
/* a stripe that is kept at last exceeds this many standard errors of its height and of second differences, and this
 * multiple of the least height that structure allows */
static const double SURE_ERRORS = 4.5, SURE_KINKS = 1.4, SURE_STRUCTURE = 2;
/* a corner: a stripe leaves this part of the squares unexplained, or less than this part of it is seen on one side */
static const double CORNER = 0.12, CORNER_SHOWN = 0.5;
static const double AMONG_MANY = 0.5;  /* part of these limits where a row has many stripes */
static const double KINK_ERRORS = 2.5; /* noise allowed for each of the three distances, in standard errors */
static const double ALIKE = 0.5;       /* smallest value of each of the three distances, relative to the height */
static const double STRUCTURE = 0.1;   /* a stripe must exceed this part of the object's mean second difference */
/* a column is lost if it is so much farther from its neighbours than others are from theirs */
static const double APART = 3;
/* least of a stripe that its column shows without the curve assumed for the object */
static const double SHOWN_ALONE = 0.15;
static const double RISE = 2;   /* most that the mean rises at a stripe in few columns, relative to its height */
static const double PAIR = 0.7; /* residual of a pair relative to that of one column */

size_t qb__rings_work(size_t columns) { return WORKS * columns; }

typedef struct spikes {
    const qb__rings_row *row;
    size_t n;
    double *kinks, *kink_errors; /* [n] second differences without earlier stripes, and their standard errors */
    double *height_errors;       /* [n] standard error of the best fitting height at a column */
    double *least;               /* [n] least height of a stripe there, by the object's structure */
    double *limit;               /* [n] the same, by its error, too */
    double *found;               /* [n] heights; 0: none */
    double *ground;              /* [n] curvature of the object */
    double *whole;               /* [n] second differences that the heights do not explain */
    double *left;                /* [n] the same without the curvature of the object */
    double *heights;             /* [n] best fitting heights for `left` */
    double *scratch;             /* [2 n] */
} spikes;

static void measure(const qb__rings_row *row, spikes *s) {
    const size_t n = s->n;
    memcpy(s->kink_errors, row->measured[QB__RINGS_KINK_ERROR], n * sizeof(double));
    memcpy(s->height_errors, row->measured[QB__RINGS_HEIGHT_ERROR], n * sizeof(double));
    qb__rings_kinks(row->stripe, n, s->kinks);
    for (size_t c = 0; c < n; c++) s->kinks[c] = row->measured[QB__RINGS_KINK][c] - s->kinks[c];
    qb__rings_ground(s->kinks, n, s->ground);
    for (size_t c = 0; c < n; c++) s->left[c] = s->kinks[c] - s->ground[c];
    qb__rings_add_shared(s->height_errors, n, qb__rings_spread(row->measured[QB__RINGS_HEIGHT], n, s->scratch));
    qb__rings_add_shared(s->kink_errors, n, qb__rings_spread(s->left, n, s->scratch));
}

static void measure_structure(const qb__rings_row *row, spikes *s) {
    for (size_t c = 0; c < s->n; c++) {
        const double least = STRUCTURE * row->measured[QB__RINGS_STRUCTURE][c], noise = ERRORS * s->height_errors[c];
        s->least[c] = least, s->limit[c] = least > noise ? least : noise;
    }
}

/* What the heights found so far do not explain. */
static void look_again(spikes *s) {
    const size_t n = s->n;
    qb__rings_kinks(s->found, n, s->whole);
    for (size_t c = 0; c < n; c++) s->whole[c] = s->kinks[c] - s->whole[c];
    qb__rings_ground(s->whole, n, s->ground);
    for (size_t c = 0; c < n; c++) s->left[c] = s->whole[c] - s->ground[c];
    qb__rings_kinks(s->left, n, s->heights);
    for (size_t c = 0; c < n; c++) s->heights[c] /= 6;
}

/* As look_again(), after only the heights of c and of a column next to it have changed. */
static void look_around(spikes *s, size_t c) {
    enum { KINKS = 2, GROUND = KINKS + 4, HEIGHTS = GROUND + 1 }; /* columns that change on both sides */
    const size_t n = s->n;
    size_t first[3], end[3];
    for (int i = 0; i < 3; i++) {
        const size_t reach = (const size_t[3]){KINKS, GROUND, HEIGHTS}[i];
        first[i] = c - qb__smaller(c, reach), end[i] = qb__smaller(n, c + reach + 1);
    }
    for (size_t k = first[0]; k < end[0]; k++) s->whole[k] = s->kinks[k] - qb__rings_kink(s->found, n, k);
    qb__rings_ground_of(s->whole, n, first[1], end[1], s->ground);
    for (size_t k = first[1]; k < end[1]; k++) s->left[k] = s->whole[k] - s->ground[k];
    for (size_t k = first[2]; k < end[2]; k++) s->heights[k] = qb__rings_kink(s->left, n, k) / 6;
}

static double error_around(const spikes *s, size_t c) {
    double most = s->kink_errors[c];
    if (c > 0) most = fmax(most, s->kink_errors[c - 1]);
    return c + 1 < s->n ? fmax(most, s->kink_errors[c + 1]) : most;
}

static bool is_spike(const spikes *s, size_t c) {
    const size_t n = s->n, before = c > 0 ? c - 1 : 1, after = c + 1 < n ? c + 1 : n - 2;
    const double height = s->heights[c], size = fabs(height);
    if (size <= s->limit[c] || s->found[c] != 0 || qb__rings_has_counterpart(s->row, c, height)) return false;
    if (size < fabs(s->heights[before]) || size < fabs(s->heights[after])) return false;
    const double sign = height < 0 ? -1 : 1;
    const double shown = fmin(-0.5 * sign * s->left[c], fmin(sign * s->left[before], sign * s->left[after]));
    return shown + KINK_ERRORS * error_around(s, c) > ALIKE * size;
}

/* Fit all heights together, one after the other. */
static void fit(spikes *s) {
    const size_t n = s->n;
    size_t *list = (size_t *)s->scratch, count = 0;
    for (size_t c = 2; c + 2 < n; c++)
        if (s->found[c] != 0) list[count++] = c;
    qb__rings_kinks(s->found, n, s->left);
    for (size_t c = 0; c < n; c++) s->left[c] = s->kinks[c] - s->ground[c] - s->left[c];
    for (int i = 0; i < FITS; i++) {
        for (size_t k = 0; k < count; k++) {
            const size_t c = list[k];
            const double more = qb__rings_kink(s->left, n, c) / 6;
            s->found[c] += more;
            s->left[c - 1] -= more, s->left[c] += 2 * more, s->left[c + 1] -= more;
        }
    }
}

static bool add_spikes(spikes *s) {
    const size_t n = s->n;
    bool any = false;
    memset(s->scratch, 0, n * sizeof *s->scratch);
    for (size_t c = 0; c < n; c++)
        if (is_spike(s, c)) s->scratch[c] = s->heights[c];
    for (size_t c = 0; c < n; c++) {
        if (s->scratch[c] == 0) continue;
        bool largest = true;
        for (size_t k = c > 2 ? c - 2 : 0; largest && k <= c + 2 && k < n; k++)
            largest = fabs(s->scratch[c]) >= fabs(s->scratch[k]);
        if (!largest) continue;
        s->found[c] += s->scratch[c];
        any = true;
    }
    return any;
}

/* Columns `first` and the next one by the four kinks around them. Returns the norm of the residual. */
static double fit_pair(const double *y, double *a, double *b) {
    const double ya = y[0] - 2 * y[1] + y[2], yb = y[1] - 2 * y[2] + y[3];
    *a = (6 * ya + 4 * yb) / 20, *b = (4 * ya + 6 * yb) / 20;
    const double e[4] = {y[0] - *a, y[1] + 2 * *a - *b, y[2] - *a + 2 * *b, y[3] - *b};
    return sqrt(e[0] * e[0] + e[1] * e[1] + e[2] * e[2] + e[3] * e[3]);
}

/* True if column c, a stripe, and column d next to it explain much more together than c alone. */
static bool add_pair(spikes *s, size_t c, size_t d) {
    const size_t first = c < d ? c : d;
    double y[4], a, b;
    if (first < 2 || first + 4 > s->n || s->found[d] != 0) return false;
    for (size_t i = 0; i < 4; i++) y[i] = s->left[first - 1 + i];
    const double alone = sqrt(y[0] * y[0] + y[1] * y[1] + y[2] * y[2] + y[3] * y[3]);
    const size_t at = c - first;
    y[at] += s->found[c], y[at + 1] -= 2 * s->found[c], y[at + 2] += s->found[c];
    const double both = fit_pair(y, &a, &b), of_c = c < d ? a : b, of_d = c < d ? b : a;
    const double noise = 2 * fmax(error_around(s, first), error_around(s, first + 1));
    if (fabs(of_d) <= ERRORS * s->height_errors[d] || both >= PAIR * alone || both >= fmax(0.5 * fabs(of_d), noise))
        return false;
    s->found[d] = of_d;
    s->found[c] = fabs(of_c) < ERRORS * s->height_errors[c] ? 0 : of_c;
    return true;
}

static bool add_pairs(spikes *s) {
    bool any = false;
    for (size_t c = 1; c + 1 < s->n; c++) {
        if (s->found[c] == 0) continue;
        const bool pair = add_pair(s, c, c - 1) || add_pair(s, c, c + 1);
        if (pair) look_around(s, c);
        any = any || pair;
    }
    return any;
}

/* The residual of a lost column varies more than the height of its stripe, and cannot be corrected by a constant. */
static bool shows_the_object(qb__rings_row *row, size_t c, double height, double distance) {
    const bool lost = row->lost[c];
    row->lost[c] = true; /* others are not compared with it */
    const bool apart = distance > fabs(height) && qb__rings_is_apart(row, APART, c, distance);
    row->lost[c] = lost;
    return !apart;
}

/* True if neither noise nor the object explains the height at c, by `part` of the limits. */
static bool stands_out(const spikes *s, const double *errors, double part, size_t c) {
    const double size = fabs(s->found[c]) / part;
    return size > SURE_ERRORS * errors[c] && size > SURE_KINKS * error_around(s, c) &&
           size > SURE_STRUCTURE * s->least[c] && !qb__rings_has_counterpart(s->row, c, s->found[c]);
}

/* sure[c]: the heights that stand out; returns how many. More than `alike` columns side by side with the same sign are
 * the edge of something round about the axis. */
static size_t pick(const spikes *s, const double *errors, double part, size_t alike, double *sure) {
    size_t count = 0;
    for (size_t c = 0, end; c < s->n; c = end) {
        for (end = c + 1; end < s->n && s->found[end] * s->found[c] > 0;) end++;
        for (size_t k = c; k < end; k++) {
            const bool stays = s->found[k] != 0 && end - c <= alike && stands_out(s, errors, part, k);
            sure[k] = stays ? s->found[k] : 0;
            count += stays;
        }
    }
    return count;
}

/* True if the second differences around column c are not those of its height: a stripe explains all of them, the corner
 * of an edge that stands still two thirds. */
static bool is_corner(const spikes *s, size_t c) {
    const double size = fabs(s->found[c]), sign = s->found[c] < 0 ? -1 : 1;
    double all = 0, left = 0, shown = size;
    for (size_t i = 0; i < 3; i++) {
        const double part = i == 1 ? -2 : 1, rest = s->left[c - 1 + i], here = rest + part * s->found[c];
        all += here * here, left += rest * rest;
        shown = fmin(shown, sign * here / part);
    }
    return left > CORNER * all || shown < CORNER_SHOWN * size;
}

/* Several corners of an edge may explain each other, so those that stay are fitted again. */
static void drop_corners(spikes *s) {
    for (bool any = true; any;) {
        any = false;
        for (size_t c = 0; c < s->n; c++) {
            s->scratch[c] = s->found[c];
            if (s->found[c] == 0 || (c > 0 && c + 1 < s->n && !is_corner(s, c))) continue;
            s->scratch[c] = 0, any = true;
        }
        memcpy(s->found, s->scratch, s->n * sizeof *s->found);
        if (!any) return;
        fit(s);
        look_again(s);
    }
}

/* True if a row has many sure stripes. Filtered rows have fewer: a filter spreads the stripes that are side by side. */
static bool has_many(const qb__rings_how *how, size_t sure, size_t columns) {
    return sure * ((how->parts & QB__RINGS_SOFT) ? SURE_PART_SOFT : SURE_PART) >= columns && sure >= SURE_LEAST;
}

/* Drops what may be no stripe. A row that has many sure ones has weaker ones, too. */
static void drop_doubtful(const qb__rings_how *how, const qb__rings_row *row, spikes *s) {
    double *errors = s->ground; /* of the height at a column, as a median over 9 columns */
    qb__rings_ground(row->measured[QB__RINGS_HEIGHT_ERROR], s->n, errors);
    if (has_many(how, row->sure + pick(s, errors, 1, 1, s->scratch), s->n))
        pick(s, errors, AMONG_MANY, MOST_ALIKE, s->scratch);
    memcpy(s->found, s->scratch, s->n * sizeof *s->found);
}

/* Mean over the views without stripes. */
static double level(const qb__rings_row *row, const double *found, size_t c) {
    double sum = 0;
    for (size_t b = 0; b < row->blocks; b++) sum += row->means[b * row->columns + c];
    return sum / (double)row->blocks - row->stripe[c] - found[c];
}

/* True if column c may be no stripe but what is beside a sharp edge that stands still. Then the curve assumed for the
 * object explains most of the height; or in few columns it is lower than what the mean rises there. */
static bool is_rim(const qb__rings_row *row, const spikes *s, size_t c) {
    const double size = fabs(s->found[c]), kink = s->kinks[c] - qb__rings_kink(s->found, s->n, c) - 2 * s->found[c];
    if (-0.5 * kink / s->found[c] < SHOWN_ALONE) return true;
    if (s->n >= FEW_RISES || c == 0 || c + 1 == s->n) return false;
    return 0.5 * fabs(level(row, s->found, c + 1) - level(row, s->found, c - 1)) > RISE * size;
}

static void drop_rims(const qb__rings_row *row, spikes *s) {
    for (size_t c = 0; c < s->n; c++) s->scratch[c] = s->found[c] != 0 && !is_rim(row, s, c) ? s->found[c] : 0;
    memcpy(s->found, s->scratch, s->n * sizeof *s->found);
}

void qb__rings_spikes(const qb__rings_how *how, qb__rings_row *row) {
    const size_t n = row->columns;
    double *w = row->work;
    if (row->windows < 4 || n < 16 || ((how->parts & QB__RINGS_SOFT) && n < QB__RINGS_FEW)) return;
    spikes s = {row,       n,         w,         w + n,     w + 2 * n, w + 3 * n, w + 4 * n,
                w + 5 * n, w + 6 * n, w + 7 * n, w + 8 * n, w + 9 * n, w + 10 * n};
    measure(row, &s);
    measure_structure(row, &s);
    memset(s.found, 0, n * sizeof *s.found);
    look_again(&s);
    for (int i = 0; i < SWEEPS; i++) {
        const bool found = add_spikes(&s);
        if (found) {
            fit(&s);
            look_again(&s);
        }
        const bool pairs = add_pairs(&s);
        if (!found && !pairs) break;
    }
    if (n < QB__RINGS_FEW) drop_corners(&s);
    drop_doubtful(how, row, &s);
    qb__rings_sparser(s.kinks, s.kink_errors, n, s.found);
    drop_doubtful(how, row, &s);
    drop_rims(row, &s);
    qb__rings_distances(row, s.found, s.scratch);
    for (size_t c = 0; c < n; c++) {
        if (s.found[c] == 0 || !shows_the_object(row, c, s.found[c], s.scratch[c])) continue;
        row->stripe[c] += s.found[c];
        row->kinds |= QB__RINGS_NARROW;
    }
}
