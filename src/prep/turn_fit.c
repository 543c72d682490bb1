/* SPDX-License-Identifier: MIT */
/* Finds the factor of the stated angles for which the moments of the rows move as those of an object that turns. */
#include "prep/turn_check.h"

#include <math.h>

#include "base/sort.h"

enum { VIEWS = QB__SAMPLE_VIEWS, GROUPS = QB__SAMPLE_GROUPS, MOMENTS = QB__TURN_MOMENTS, TERMS = 5 };

/* Least-squares fit of y by some functions; returns the mean square residual. INFINITY if they are nearly linearly
 * dependent. */
static double left_of(double (*f)[TERMS], size_t terms, const double *y, size_t n, double x[TERMS]) {
    double a[TERMS][TERMS + 1] = {{0}}, left = 0, trace = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t r = 0; r < terms; r++) {
            for (size_t c = 0; c < terms; c++) a[r][c] += f[i][r] * f[i][c];
            a[r][terms] += f[i][r] * y[i];
        }
    for (size_t r = 0; r < terms; r++) trace += a[r][r];
    for (size_t p = 0; p < terms; p++) {
        if (!(a[p][p] > 1e-9 * trace)) return INFINITY;
        for (size_t r = 0; r < terms; r++) {
            const double times = r == p ? 0 : a[r][p] / a[p][p];
            for (size_t c = 0; c <= terms; c++) a[r][c] -= times * a[p][c];
        }
    }
    for (size_t p = 0; p < terms; p++) x[p] = a[p][terms] / a[p][p];
    for (size_t i = 0; i < n; i++) {
        double rest = y[i];
        for (size_t p = 0; p < terms; p++) rest -= x[p] * f[i][p];
        left += rest * rest;
    }
    return left / (double)n;
}

/* Residual of the centre of mass. A point (x, y) is seen at u = M (x cos t + y sin t) / (1 + (y cos t - x sin t) /
 * sod): u is linear in x, y and M c. */
static double left_of_middle(const qb__turn_track *t, double factor, double *depth) {
    double f[VIEWS][TERMS], x[TERMS];
    for (size_t i = 0; i < t->views; i++) {
        const double a = factor * t->angle[i], u = t->sod > 0 ? t->moment[0][i] / t->sod : 0;
        f[i][0] = 1;
        f[i][1] = cos(a) + u * sin(a);
        f[i][2] = sin(a) - u * cos(a);
    }
    const double left = left_of(f, 3, t->moment[0], t->views, x);
    for (size_t i = 0; i < t->views; i++) {
        const double a = factor * t->angle[i];
        depth[i] = t->sod > 0 && isfinite(left) ? 1 + (x[2] * cos(a) - x[1] * sin(a)) / t->sod : 1;
    }
    return left;
}

/* Residual of the variance, which has the frequencies 0 and 2. */
static double left_of_spread(const qb__turn_track *t, double factor, const double *depth) {
    double f[VIEWS][TERMS], y[VIEWS] = {0}, x[TERMS];
    for (size_t i = 0; i < t->views; i++) {
        const double a = 2 * factor * t->angle[i];
        f[i][0] = 1, f[i][1] = cos(a), f[i][2] = sin(a);
        y[i] = t->moment[1][i] * depth[i] * depth[i];
    }
    return left_of(f, 3, y, t->views, x);
}

/* Residual of the third moment, which has the frequencies 1 and 3; a faulty column adds a constant. */
static double left_of_skew(const qb__turn_track *t, double factor) {
    double f[VIEWS][TERMS], x[TERMS];
    for (size_t i = 0; i < t->views; i++) {
        const double a = factor * t->angle[i];
        f[i][0] = 1, f[i][1] = cos(a), f[i][2] = sin(a), f[i][3] = cos(3 * a), f[i][4] = sin(3 * a);
    }
    return left_of(f, 5, t->moment[2], t->views, x);
}

/* Mean square residuals, with a floor for imperfect data. The third moment of a cone is not used. */
static void fit_track(const qb__turn_track *t, double factor, double left[MOMENTS]) {
    double depth[VIEWS];
    left[0] = left_of_middle(t, factor, depth);
    left[1] = left_of_spread(t, factor, depth);
    left[2] = t->sod > 0 ? 0 : left_of_skew(t, factor);
    for (int i = 0; i < MOMENTS; i++) left[i] += t->floor[i] * t->floor[i];
}

/* ln of the ratio by which a factor fits better than 1, as the mean of all rows; -INFINITY: one moment fits worse. */
static double gain_of(const qb__turn_track *tracks, size_t count, double (*stated)[MOMENTS], double factor) {
    const double WORSE = 0.3;
    double gain[MOMENTS] = {0}, sum = 0;
    for (size_t g = 0; g < count; g++) {
        double left[MOMENTS];
        fit_track(&tracks[g], factor, left);
        for (int i = 0; i < MOMENTS; i++) gain[i] += log(stated[g][i] / left[i]) / (double)count;
    }
    for (int i = 0; i < MOMENTS; i++) {
        if (!(gain[i] > -WORSE)) return -INFINITY;
        sum += gain[i];
    }
    return 0.5 * sum;
}

/* Upper limit of gain_of() for any factor: that of a factor whose residual is only the floor. */
static double most_gain(const qb__turn_track *tracks, size_t count, double (*stated)[MOMENTS]) {
    double sum = 0;
    for (size_t g = 0; g < count; g++)
        for (int i = 0; i < MOMENTS; i++)
            if (stated[g][i] > 0) sum += log(stated[g][i] / (tracks[g].floor[i] * tracks[g].floor[i])) / (double)count;
    return 0.5 * sum;
}

/* Among ranges that fit nearly as well, take the roundest one. */
static void round_span(const qb__turn_track *tracks, size_t count, double (*stated)[MOMENTS], double span,
                       qb__turn_fit *fit) {
    static const double units[] = {90, 30, 10, 5, 1};
    const double NEARLY = 0.05, FAR = 0.04; /* ln; of the factor */
    const double best = log(fit->better), found = fit->factor;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        const double factor = rint(found * span / units[i]) * units[i] / span;
        if (!(fabs(factor - found) < FAR * found)) continue;
        const double gain = gain_of(tracks, count, stated, factor);
        if (!(gain > best - NEARLY)) continue;
        fit->factor = factor, fit->better = exp(gain);
        return;
    }
}

/* Try factors of 1/4 to 4, so densely that fits change little between two of them, then around the best one. */
static void search(const qb__turn_track *tracks, size_t count, double (*stated)[MOMENTS], double span,
                   qb__turn_fit *fit) {
    enum { STEPS = 57, FINE = 12 };
    const double MOST = 4, SAME = 0.01, step = log(MOST) / STEPS;
    double best = 0, at = 0;
    for (int i = -STEPS; i <= STEPS; i++) {
        const double gain = gain_of(tracks, count, stated, exp(i * step));
        if (gain > best) best = gain, at = i * step;
    }
    const double middle = at;
    for (int i = -FINE; i <= FINE; i++) {
        const double gain = gain_of(tracks, count, stated, exp(middle + i * step / FINE));
        if (gain > best) best = gain, at = middle + i * step / FINE;
    }
    if (!(fabs(at) > SAME)) return;
    fit->factor = exp(at), fit->better = exp(best);
    round_span(tracks, count, stated, span, fit);
}

double qb__turn_variance(const double *y, size_t n, double *mean) {
    double sum = 0, square = 0;
    for (size_t i = 0; i < n; i++) sum += y[i];
    *mean = sum / (double)n;
    for (size_t i = 0; i < n; i++) square += (y[i] - *mean) * (y[i] - *mean);
    return square / (double)n;
}

void qb__turn_fit_tracks(const qb__turn_track *tracks, size_t count, double span, double least, qb__turn_fit *fit) {
    double stated[GROUPS][MOMENTS], misfit[GROUPS], moved[GROUPS], mean;
    qb__turn_track usable[GROUPS];
    *fit = (qb__turn_fit){.factor = 1, .better = 1};
    for (size_t g = 0; g < count; g++) {
        double *left = stated[fit->rows];
        fit_track(&tracks[g], 1, left);
        if (!isfinite(left[0] + left[1] + left[2])) continue;
        moved[fit->rows] = sqrt(qb__turn_variance(tracks[g].moment[0], tracks[g].views, &mean));
        misfit[fit->rows] = sqrt(left[0]);
        usable[fit->rows++] = tracks[g];
    }
    if (!fit->rows) return;
    if (!(most_gain(usable, fit->rows, stated) < log(least))) search(usable, fit->rows, stated, span, fit);
    if (fit->better < least) fit->factor = fit->better = 1;
    fit->moved = qb__median(moved, fit->rows);
    fit->misfit = qb__median(misfit, fit->rows);
}
