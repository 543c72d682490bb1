/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "prep/opposite_look.h"

static double between(const float *line, double at) {
    const size_t k = (size_t)at;
    const double part = at - (double)k;
    return (1 - part) * (double)line[k] + part * (double)line[k + 1];
}

/* The terms of one bin of a row of a pair: the difference, its derivatives, and the differences to other views. */
enum { DIFFERENCE = QB__OPPOSITE_UNKNOWN, NEXT, FAR, CROSS, HERE, THERE, TERMS };

static void terms_of(const qb__opposite_look *l, const qb__opposite_pair *p, size_t at, double column, double z,
                     size_t k, double *t) {
    const size_t size = l->rows * l->bins;
    const double mirror = 2 * column - (double)k, x = (double)k - column;
    const float *v[2], *low[2], *high[2];
    for (int s = 0; s < 2; s++) {
        v[s] = l->lines + p->view[s] * size + at * l->bins;
        low[s] = l->lines + p->low[s] * size + at * l->bins;
        high[s] = l->lines + p->high[s] * size + at * l->bins;
    }
    const double here = (double)v[0][k], there = between(v[1], mirror);
    t[HERE] = ((double)high[0][k] - (double)low[0][k]) / p->lever[0];
    t[THERE] = (between(high[1], mirror) - between(low[1], mirror)) / p->lever[1];
    const double dx =
        0.25 * ((double)v[0][k + 1] - (double)v[0][k - 1] + between(v[1], mirror - 1) - between(v[1], mirror + 1));
    t[DIFFERENCE] = there - here;
    t[QB__OPPOSITE_SHIFT] = 2 * dx;
    t[QB__OPPOSITE_TURN] = 0.5 * (t[HERE] + t[THERE]);
    t[QB__OPPOSITE_LEAN] = 0;
    if (l->levels > 1) {
        const double dz = 0.25 * ((double)v[0][k + l->bins] - (double)*(v[0] + k - l->bins) +
                                  between(v[1] + l->bins, mirror) - between(v[1] - l->bins, mirror));
        t[QB__OPPOSITE_LEAN] = -2 * (z * dx - x * dz);
    }
    t[NEXT] = (double)l->lines[p->next * size + at * l->bins + k] - here;
    t[FAR] = (double)l->lines[p->far * size + at * l->bins + k] - here;
    t[CROSS] = between(l->lines + p->far * size + at * l->bins, mirror) - here;
}

static void add_line(qb__opposite_look *l, size_t number, size_t where, double column) {
    const qb__opposite_pair *p = &l->pairs[number];
    const size_t at = where * l->levels + (l->levels > 1), last = l->bins - 3;
    const double z = ((double)l->row[at] - 0.5 * (double)(l->row[0] + l->row[l->rows - 1])) / (double)l->bin;
    double term[QB__OPPOSITE_BINS + QB__OPPOSITE_BINS / 2][TERMS], mean[TERMS] = {0};
    size_t from = 2, to = last + 1;
    if (2 * column > (double)(last + 2)) from = (size_t)ceil(2 * column - (double)last + 1e-9);
    if (2 * column - 2 < (double)last) to = 2 * column < 4 ? 0 : (size_t)floor(2 * column - 2) + 1;
    if (from + 8 > to) return;
    for (size_t k = from; k < to; k++) {
        terms_of(l, p, at, column, z, k, term[k]);
        for (int i = 0; i < TERMS; i++) mean[i] += term[k][i] / (double)(to - from);
    }
    for (size_t k = from; k < to; k++) {
        double *t = term[k];
        qb__opposite_sums *s =
            &l->part[(number * l->places + where) * QB__OPPOSITE_PARTS + (k - from) * QB__OPPOSITE_PARTS / (to - from)];
        for (int i = 0; i < TERMS; i++) t[i] -= mean[i];
        double a[QB__OPPOSITE_UNKNOWN][QB__OPPOSITE_UNKNOWN];
        for (int i = 0; i < QB__OPPOSITE_UNKNOWN; i++)
            for (int j = 0; j < QB__OPPOSITE_UNKNOWN; j++) a[i][j] = t[i] * t[j];
        a[QB__OPPOSITE_TURN][QB__OPPOSITE_TURN] = t[HERE] * t[THERE]; /* the noise of the two factors is independent */
        for (int i = 0; i < QB__OPPOSITE_UNKNOWN; i++) {
            for (int j = 0; j < QB__OPPOSITE_UNKNOWN; j++) s->a[i][j] += a[i][j];
            s->y[i] += t[i] * t[DIFFERENCE] - p->off * a[i][QB__OPPOSITE_TURN];
        }
        s->rest += t[DIFFERENCE] * t[DIFFERENCE] - 2 * p->off * t[QB__OPPOSITE_TURN] * t[DIFFERENCE] +
                   p->off * p->off * a[QB__OPPOSITE_TURN][QB__OPPOSITE_TURN];
        l->next += t[NEXT] * t[NEXT];
        l->far += t[FAR] * t[FAR];
        l->cross += t[CROSS] * t[CROSS];
    }
}

/* Least squares without part `but`; undetermined unknowns are 0. Returns the residual. */
static double solve(const qb__opposite_look *l, const qb__opposite_sums *total, const qb__opposite_sums *but,
                    double x[QB__OPPOSITE_UNKNOWN]) {
    double a[QB__OPPOSITE_UNKNOWN][QB__OPPOSITE_UNKNOWN + 1];
    bool known[QB__OPPOSITE_UNKNOWN];
    for (int i = 0; i < QB__OPPOSITE_UNKNOWN; i++) {
        for (int j = 0; j < QB__OPPOSITE_UNKNOWN; j++) a[i][j] = total->a[i][j] - (but ? but->a[i][j] : 0);
        a[i][QB__OPPOSITE_UNKNOWN] = total->y[i] - (but ? but->y[i] : 0);
    }
    double rest = total->rest - (but ? but->rest : 0);
    for (int p = 0; p < QB__OPPOSITE_UNKNOWN; p++) {
        known[p] = a[p][p] > 1e-3 * total->a[p][p] && a[p][p] > 0 && (p != QB__OPPOSITE_TURN || l->around);
        if (!known[p]) continue;
        for (int r = 0; r < QB__OPPOSITE_UNKNOWN; r++) {
            const double times = r == p ? 0 : a[r][p] / a[p][p];
            for (int c = 0; c <= QB__OPPOSITE_UNKNOWN; c++) a[r][c] -= times * a[p][c];
        }
    }
    for (int p = 0; p < QB__OPPOSITE_UNKNOWN; p++) {
        x[p] = known[p] ? a[p][QB__OPPOSITE_UNKNOWN] / a[p][p] : 0;
        rest -= x[p] * total->y[p];
    }
    return rest;
}

/* Sums over pairs first <= i < end. */
qb__opposite_fit qb__opposite_fit_pairs(const qb__opposite_look *l, size_t first, size_t end) {
    qb__opposite_fit f = {0};
    qb__opposite_sums total = {0};
    const size_t each = l->places * QB__OPPOSITE_PARTS;
    for (size_t k = first * each; k < end * each; k++) {
        for (int i = 0; i < QB__OPPOSITE_UNKNOWN; i++) {
            for (int j = 0; j < QB__OPPOSITE_UNKNOWN; j++) total.a[i][j] += l->part[k].a[i][j];
            total.y[i] += l->part[k].y[i];
        }
        total.rest += l->part[k].rest;
    }
    f.before = total.rest;
    f.after = solve(l, &total, NULL, f.x);
    for (size_t k = first * each; k < end * each; k++) {
        double x[QB__OPPOSITE_UNKNOWN];
        solve(l, &total, &l->part[k], x);
        for (int i = 0; i < QB__OPPOSITE_UNKNOWN; i++) f.error[i] += (x[i] - f.x[i]) * (x[i] - f.x[i]);
    }
    for (int i = 0; i < QB__OPPOSITE_UNKNOWN; i++) f.error[i] = sqrt(f.error[i]);
    return f;
}

double qb__opposite_turn_of(const qb__opposite_look *l, size_t pair) {
    const size_t each = l->places * QB__OPPOSITE_PARTS;
    double a = 0, y = 0;
    for (size_t k = pair * each; k < (pair + 1) * each; k++) {
        a += l->part[k].a[QB__OPPOSITE_TURN][QB__OPPOSITE_TURN];
        y += l->part[k].y[QB__OPPOSITE_TURN];
    }
    return a > 0 ? y / a : 0;
}

qb__opposite_fit qb__opposite_fit_at(qb__opposite_look *l, double column) {
    memset(l->part, 0, l->count * l->places * QB__OPPOSITE_PARTS * sizeof *l->part);
    l->next = l->far = l->cross = 0;
    for (size_t i = 0; i < l->count; i++)
        for (size_t p = 0; p < l->places; p++) add_line(l, i, p, column);
    qb__opposite_fit f = qb__opposite_fit_pairs(l, 0, l->count);
    f.next = l->next, f.far = l->far, f.cross = l->cross;
    return f;
}

qb__opposite_fit qb__opposite_settle(qb__opposite_look *l, double *column) {
    enum { TIMES = 12 };
    qb__opposite_fit f = qb__opposite_fit_at(l, *column);
    for (int i = 0; i < TIMES && fabs(f.x[QB__OPPOSITE_SHIFT]) > 0.02; i++) {
        *column = fmin(fmax(*column + fmin(fmax(f.x[QB__OPPOSITE_SHIFT], -1), 1), 5), (double)l->bins - 6);
        f = qb__opposite_fit_at(l, *column);
    }
    return f;
}

/* The column where opposite views agree best, relative to the difference of unrelated views. */
double qb__opposite_search(const qb__opposite_look *l, double edge) {
    enum { MOST = 6 };
    const size_t size = l->rows * l->bins, level = l->levels > 1, stride = (l->count + MOST - 1) / MOST;
    double best = INFINITY, column = NAN;
    for (size_t m = (size_t)(2 * edge * (double)l->bins); m < (size_t)(2 * (1 - edge) * (double)l->bins); m++) {
        const size_t last = qb__smaller(m, l->bins - 1), first = m - last, n = last - first + 1;
        double apart = 0, all = 0;
        for (size_t i = 0; i < l->count; i += stride)
            for (size_t p = 0; p < l->places; p++) {
                const size_t at = (p * l->levels + level) * l->bins;
                const float *a = l->lines + l->pairs[i].view[0] * size + at,
                            *b = l->lines + l->pairs[i].view[1] * size + at;
                double ma = 0, mb = 0;
                for (size_t k = 0; k < n; k++) ma += (double)a[first + k], mb += (double)b[first + k];
                for (size_t k = 0; k < n; k++) {
                    const double x = (double)a[first + k] - ma / (double)n;
                    const double y = (double)b[last - k] - mb / (double)n;
                    apart += (x - y) * (x - y), all += x * x + y * y;
                }
            }
        if (all > 0 && apart / all < best) best = apart / all, column = 0.5 * (double)m;
    }
    return column;
}
