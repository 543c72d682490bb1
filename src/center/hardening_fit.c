/* SPDX-License-Identifier: MIT */
/* Finds the curve of --hardening from a scan of an object of one material. The reconstructed slices give the path
 * length of each ray in the object, and p + A p^2 + B p^3 must be proportional to that length (Herman, Phys. Med. Biol.
 * 24 (1979) 81). Least squares give A, B and the attenuation of thin layers. The slice is then reconstructed again from
 * the corrected line integrals. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/caller.h"
#include "base/comm.h"
#include "base/fork.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/status.h"
#include "base/warning.h"
#include "center/hardening_slice.h"

enum { MOST_COLUMNS = 256, MOST_VIEWS = 360, MOST_ROWS = 5, ROUNDS = 3, BINS = 64 };

typedef struct fit {
    double a, b, mu; /* mu: line integral per column of path length in thin material */
    double rms;      /* root mean square of the residuals, relative to the largest corrected line integral */
    double loss;     /* relative amount by which the line integral of the longest path is too small */
    double most;     /* largest line integral */
} fit;

/* Sums over the rays of similar length: line integrals, path lengths, number of rays, squares of the integrals. */
typedef struct curve {
    double p[BINS], length[BINS], count[BINS], square[BINS];
} curve;

static double bent(const fit *f, double p) { return p + p * p * (f->a + f->b * p); }

static void collect(const qb__hardening_row *row, const double *lines, double longest, curve *c) {
    const double EDGE = 2; /* in columns: shorter paths lie at edges of the object */
    for (size_t i = 0; i < row->views * row->columns; i++) {
        const double length = row->lengths[i];
        if (length < EDGE || length < 0.02 * longest) continue;
        const size_t b = (size_t)fmin((BINS - 1), BINS * length / longest);
        c->p[b] += lines[i], c->length[b] += length, c->count[b]++, c->square[b] += lines[i] * lines[i];
    }
}

/* Solves 3 x 3 equations by Gauss elimination with pivoting; false if singular. */
static bool solve(double m[3][4], double x[3]) {
    for (int i = 0; i < 3; i++) {
        int best = i;
        for (int k = i + 1; k < 3; k++)
            if (fabs(m[k][i]) > fabs(m[best][i])) best = k;
        for (int j = 0; j < 4; j++) {
            const double swapped = m[i][j];
            m[i][j] = m[best][j], m[best][j] = swapped;
        }
        if (!(fabs(m[i][i]) > 1e-12)) return false;
        for (int k = 0; k < 3; k++) {
            if (k == i) continue;
            const double f = m[k][i] / m[i][i];
            for (int j = i; j < 4; j++) m[k][j] -= f * m[i][j];
        }
    }
    for (int i = 0; i < 3; i++) x[i] = m[i][3] / m[i][i];
    return true;
}

/* Least squares of mu length - A p^2 - B p^3 = p. The weight of a class of lengths is the number of its rays, limited
 * to ENOUGH. */
static bool solve_fit(const curve *c, fit *f) {
    const double ENOUGH = 200;
    double m[3][4] = {{0}}, x[3], most = 0, longest = 0;
    size_t classes = 0;
    for (size_t b = 0; b < BINS; b++) {
        if (c->count[b] < 8) continue;
        const double p = c->p[b] / c->count[b], length = c->length[b] / c->count[b];
        const double term[4] = {length, -p * p, -p * p * p, p}, weight = fmin(c->count[b], ENOUGH);
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 4; j++) m[i][j] += weight * term[i] * term[j];
        most = fmax(most, p), longest = fmax(longest, length);
        classes++;
    }
    if (classes < 8 || !solve(m, x)) return false;
    *f = (fit){.mu = x[0], .a = x[1], .b = x[2], .most = most};
    double sum = 0, weights = 0;
    for (size_t b = 0; b < BINS; b++) {
        if (c->count[b] < 8) continue;
        const double p = c->p[b] / c->count[b], length = c->length[b] / c->count[b];
        const double left = bent(f, p) - f->mu * length, weight = fmin(c->count[b], ENOUGH);
        sum += weight * left * left, weights += weight;
    }
    f->rms = sqrt(sum / weights) / bent(f, most);
    f->loss = 1 - most / bent(f, most);
    return f->mu > 0;
}

/* Reduces a row to few columns and views. The caller frees out->lines. */
static qb_status reduce(const qb__center_rows *rows, size_t which, size_t each, size_t bin, qb__hardening_row *out) {
    const size_t views = qb__ceil_div(rows->views, each), columns = rows->columns / bin;
    const qb_status status = qb__alloc(views * columns, sizeof(double), &out->lines);
    out->views = views, out->columns = columns;
    for (size_t v = 0; status == QB_OK && v < views; v++) {
        const float *line = rows->sinograms + (which * rows->views + v * each) * rows->columns;
        for (size_t c = 0; c < columns; c++) {
            double sum = 0;
            for (size_t k = 0; k < bin; k++) sum += line[c * bin + k];
            out->lines[v * columns + c] = sum / (double)bin;
        }
    }
    return status;
}

/* Corrects the line integrals of one row by the present curve, computes the path lengths, and adds both to the next
 * curve. */
static qb_status look_at_row(const qb__center_rows *rows, size_t which, size_t each, const fit *f, double axis,
                             const double *angles, curve *c) {
    const size_t bin = qb__ceil_div(rows->columns, MOST_COLUMNS);
    qb__hardening_row row = {.axis = (axis - 0.5 * ((double)bin - 1)) / (double)bin, .angles = angles};
    double *measured = NULL, longest = 0;
    qb_status status;
    QB__TRY(reduce(rows, which, each, bin, &row));
    const size_t count = row.views * row.columns;
    QB__TRY(qb__alloc(count, sizeof *measured, &measured));
    QB__TRY(qb__alloc(count, sizeof *row.lengths, &row.lengths));
    memcpy(measured, row.lines, count * sizeof *measured);
    for (size_t i = 0; i < count; i++) row.lines[i] = bent(f, row.lines[i]);
    QB__TRY(qb__hardening_lengths(&row, rows->pool));
    for (size_t i = 0; i < count; i++) longest = fmax(longest, row.lengths[i]);
    if (longest > 0) collect(&row, measured, longest, c);
out:
    QB__FREE(measured, row.lines, row.lengths);
    return status;
}

static qb_status fit_rows(const qb__center_rows *rows, double axis, void *context) {
    qb_hardening_result *result = context;
    const size_t each = qb__ceil_div(rows->views, MOST_VIEWS), views = qb__ceil_div(rows->views, each);
    const size_t looked = qb__smaller(rows->rows, MOST_ROWS);
    double *angles = NULL;
    fit f = {0};
    qb_status status;
    QB__TRY(qb__alloc(views, sizeof *angles, &angles));
    for (size_t v = 0; v < views; v++) angles[v] = rows->angles[v * each];
    for (int round = 0; round < ROUNDS; round++) {
        curve c = {.p = {0}};
        for (size_t r = 0; r < looked; r++) {
            QB__TRY(qb__check_cancel(rows->env));
            qb__progress(rows->env, "slices for the curve", (size_t)round * looked + r, ROUNDS * looked);
            QB__TRY(look_at_row(rows, r * rows->rows / looked, each, &f, axis, angles, &c));
        }
        if (solve_fit(&c, &f)) continue;
        status = qb__fail(QB_BAD_INPUT,
                          "its rays go through too few lengths of one material to tell a curve: give --hardening A,B");
        goto out;
    }
    qb__progress(rows->env, "slices for the curve", ROUNDS * looked, ROUNDS * looked);
    if (!(f.loss > -0.1 && f.loss < 0.9 && fabs(f.a) < 10 && fabs(f.b) < 10)) {
        status = qb__fail(
            QB_BAD_INPUT,
            "the curve through its line integrals, %.3g p^2 and %.3g p^3, is not one of hardening: is there an "
            "object of one material in the rows looked at?",
            f.a, f.b);
        goto out;
    }
    result->a = f.a, result->b = f.b, result->loss = f.loss, result->rms = f.rms, result->most = f.most;
out:
    qb__free(angles);
    return status;
}

enum { FIRST_RESULT = sizeof(qb_hardening_result) }; /* bytes of the first version of the structure */

qb_status qb_hardening_find(qb_scan *scan, const qb_prep_options *prep, const qb_center_options *options,
                            const qb_env *env, qb_hardening_result *result) {
    const double POOR = 0.02;
    QB__NEED(scan);
    QB__NEED(result);
    QB__CALL();
    qb_hardening_result found = {0};
    qb_center_result axis = {0};
    qb_prep_options plain = prep ? *prep : (qb_prep_options){0};
    qb_status status = qb__result_check(result, FIRST_RESULT, "qb_hardening_result");
    if (status == QB_OK) status = qb__env_check(env);
    if (status != QB_OK) return status;
    plain.hardening = NULL;
    status = qb__center_find_with(scan, prep ? &plain : NULL, options, env, fit_rows, &found, &axis);
    found.column = axis.column;
    if (status == QB_OK && found.rms > POOR)
        snprintf(
            found.warning, sizeof found.warning,
            "line integrals stray by %.2g %% from one curve of the path: is the object of one material, and wholly "
            "inside the detector?" QB__CODE("hardening-poor"),
            100 * found.rms);
    qb__result_give(&found, sizeof found, FIRST_RESULT, result);
    return status;
}
