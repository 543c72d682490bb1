/* SPDX-License-Identifier: MIT */
/* Finds the rotation of the detector in its plane from the column that the axis has in each row. */
#include "center/center.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/comm.h"
#include "base/memory.h"
#include "base/status.h"
#include "base/warning.h"
#include "center/center_pairs.h"
#include "center/center_turn.h"

static const double DEGREES = 57.295779513082321;

/* Degrees by which the detector is still turned, from a straight line through the axis columns of the rows. NAN unless
 * the line rises by at least `least` pixels and leaves at most the fraction `scatter` of the variance. */
static double residual(const qb__center_chosen *c, const double *each, double least, double scatter) {
    double n = 0, x = 0, y = 0, xx = 0, xy = 0, yy = 0;
    for (size_t r = 0; r < c->rows; r++) {
        if (isnan(each[r])) continue;
        double row = (double)c->row[r];
        n++, x += row, y += each[r], xx += row * row, xy += row * each[r], yy += each[r] * each[r];
    }
    double sxx = xx - x * x / n, sxy = xy - x * y / n, syy = yy - y * y / n;
    if (n < 3 || !(sxx > 0)) return NAN;
    double slope = sxy / sxx, rise = slope * (double)(c->row[c->rows - 1] - c->row[0]);
    if (fabs(rise) < least || syy - sxy * slope > scatter * syy) return NAN;
    return -atan(slope) * DEGREES; /* if the detector is turned to the right, the axis leans to the left */
}

/* Measures the remaining tilt after a correction by `tilt`, from the chosen rows and sets - 1 more rows between each
 * two of them. */
static qb_status look(const qb__center_leaning *l, double tilt, size_t sets, double *more) {
    const qb__center_chosen *chosen = l->chosen;
    const size_t apart = (chosen->row[chosen->rows - 1] - chosen->row[0]) / (chosen->rows - 1);
    double each[QB__CENTER_ROWS];
    qb__center_chosen all = {0};
    qb__roll roll;
    qb_env hushed = qb__env_whole(l->rows->env);
    hushed.log = NULL;
    qb_status status = qb__roll_turned(tilt / DEGREES, l->info->columns, l->info->rows, &roll);
    for (size_t set = 0; status == QB_OK && set < sets && all.rows + chosen->rows <= QB__CENTER_ROWS; set++) {
        qb__center_chosen c = *chosen;
        qb__center_answer answer;
        for (size_t r = 0; r < c.rows; r++) c.row[r] = qb__smaller(c.row[r] + set * apart / sets, l->info->rows - 1);
        QB__TRY(qb__center_load(l->scan, l->steps, &hushed, l->rows->pool, &roll, &c, (float *)l->rows->sinograms));
        qb__center_rows now = *l->rows;
        now.rows = c.rows;
        QB__TRY(qb__center_registration(&now, &answer, each + all.rows));
        memcpy(all.row + all.rows, c.row, c.rows * sizeof *c.row);
        all.rows += c.rows;
    }
    *more = residual(&all, each, 0, 1);
out:
    qb__roll_clear(&roll);
    return status;
}

/* Measures the remaining tilt from two-dimensional images, for a tilt that is nearly right: at rows over the chosen
 * range, each with its two neighbours. */
static qb_status look_closely(const qb__center_leaning *l, const qb__center_pairs *pairs, double tilt, double column,
                              double *more) {
    enum { PLACES = 12 };
    const qb__center_chosen *chosen = l->chosen;
    const size_t first = chosen->row[0], last = chosen->row[chosen->rows - 1], rows = l->info->rows;
    qb__center_turn turn = {0};
    qb__roll roll;
    qb_env hushed = qb__env_whole(l->rows->env);
    hushed.log = NULL;
    qb_status status = qb__roll_turned(tilt / DEGREES, l->info->columns, rows, &roll);
    for (size_t i = 0; status == QB_OK && i < PLACES; i++) {
        const size_t row = qb__smaller(qb__larger(first + i * (last - first) / (PLACES - 1), 1), rows - 2);
        qb__center_chosen c = {.rows = 3, .row = {row - 1, row, row + 1}};
        QB__TRY(qb__center_load(l->scan, l->steps, &hushed, l->rows->pool, &roll, &c, (float *)l->rows->sinograms));
        if (c.rows < 3) continue; /* rows with hardly any contrast were dropped */
        qb__center_turn_add(l->rows->sinograms, l->info->views, l->info->columns, pairs, qb__roll_column(&roll, column),
                            (double)row - ((double)rows - 1) / 2, &turn);
    }
    *more = qb__center_turn_angle(&turn) * DEGREES;
out:
    qb__roll_clear(&roll);
    return status;
}

/* Improves the tilt that the columns of the rows gave. It stays if images show nothing or lead far away. */
static qb_status refine(const qb__center_leaning *l, qb_center_result *result) {
    enum { TIMES = 5 };
    /* ENOUGH: pixels over the height of the detector; FAR: multiple of the tilt found */
    const double ENOUGH = 0.01, FAR = 3;
    const double rows = (double)l->info->rows;
    qb__center_pairs pairs;
    double tilt = result->tilt, more = NAN;
    qb_status status = qb__center_pairs_find(l->info->angles, l->info->views, (double)l->info->columns / 2, &pairs);
    for (int i = 0; status == QB_OK && pairs.count && i < TIMES; i++) {
        status = look_closely(l, &pairs, tilt, result->column, &more);
        if (status != QB_OK || !(fabs(tilt + more) < FAR * fabs(result->tilt) + 1 / rows * DEGREES)) break;
        tilt += more;
        if (fabs(more) / DEGREES * rows > ENOUGH) continue;
        result->tilt = tilt;
        break;
    }
    qb__center_pairs_clear(&pairs);
    return status;
}

/* The column of a row is accurate to some tenths of a pixel. So the smaller the tilt is, the more rows are needed. */
static size_t sets_for(const qb__center_chosen *c, double tilt) {
    const double rise = fabs(tilt) / DEGREES * (double)(c->row[c->rows - 1] - c->row[0]), wanted = 8 / fmax(rise, 1);
    return (size_t)fmin(ceil(wanted * wanted / (double)c->rows), 6);
}

/* Rows that are not level mix slices, and the shape of the object there shifts their columns. So the measured angle is
 * corrected, the rest is measured again, and secant steps repeat this until the rest is small. */
static qb_status measure(const qb__center_leaning *l, const double *each, double known, qb_center_result *result) {
    enum { TIMES = 8 };
    const double SOME = 0.25, ENOUGH = 0.02; /* pixels over the height of the detector */
    double more = residual(l->chosen, each, SOME, 0.3);
    result->tilt = NAN;
    if (isnan(more)) return QB_OK;
    /* `shown`: the remaining tilt that rows showed at `before` */
    double before = known, tilt = known + more, shown = more;
    for (int i = 0; i < TIMES; i++) {
        qb_status status = look(l, tilt, sets_for(l->chosen, tilt - known), &more);
        if (status != QB_OK || isnan(more)) return status;
        if (fabs(more) / DEGREES * (double)l->info->rows < ENOUGH) {
            result->tilt = tilt + more;
            return QB_OK;
        }
        const double rate = (shown - more) / (tilt - before); /* 1 if rows show the full tilt */
        const double next = tilt + more / fmin(fmax(rate, 0.1), 2);
        if (!(fabs(next) < 45)) return QB_OK;
        before = tilt, shown = more, tilt = next;
    }
    return QB_OK;
}

static void warn(const qb_scan_info *info, double known, qb_center_result *result) {
    const double more = result->tilt - known;
    if (isnan(more) || result->warning[0]) return;
    if (fabs(more) / DEGREES * (double)info->rows < 1) return;
    snprintf(result->warning, sizeof result->warning,
             "the axis leans by %.3f degrees: its column changes by %.2f over the %zu rows; give --tilt %.3f" QB__CODE(
                 "axis-leans"),
             -more, -tan(more / DEGREES) * (double)(info->rows - 1), info->rows, result->tilt);
}

qb_status qb__center_tilt(const qb__center_leaning *l, const double *each, double known, qb_center_result *result) {
    qb_status status = measure(l, each, known, result);
    if (status == QB_OK && !isnan(result->tilt) && l->chosen->rows >= 3) status = refine(l, result);
    if (status == QB_OK) warn(l->info, known, result);
    return status;
}
