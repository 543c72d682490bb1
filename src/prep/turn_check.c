/* SPDX-License-Identifier: MIT */
/* Do the views turn as their angles say? */
#include "prep/turn_check.h"

#include <math.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/sort.h"
#include "base/status.h"
#include "base/warning.h"
#include "geometry/circle.h"

/* How well angles fit, times a factor. */
typedef struct turn_fit {
    double factor;        /* that fits best, of 1/2, 1, 2 */
    double better;        /* how many times better it fits than the stated angles */
    double moved, misfit; /* columns: rms of how the centre of mass moves, and of what the stated angles leave of it */
    double noise;         /* columns, of that */
    size_t rows;          /* that say something */
} turn_fit;

enum { VIEWS = QB__SAMPLE_VIEWS, GROUPS = QB__SAMPLE_GROUPS, FEWEST = 12, FACTORS = 5 };
static const double factors[FACTORS] = {1, 0.5, 2, 0.25, 4};
static const double degree = 57.29577951308232;

/* One detector row in a few views. */
typedef struct track {
    size_t views;
    double angle[VIEWS], middle[VIEWS], spread[VIEWS], mass[VIEWS], noise; /* columns; of a cone at the axis */
    double sod, magnified, pixel; /* sod 0: parallel; magnified and pixel: columns to mm at the axis */
    double floor[2];              /* what imperfect data may leave: columns, and columns squared */
} track;

/* Least squares of y by three functions: what is left, as a mean square. INFINITY where they are nearly the same function. */
static double left_of(const double (*f)[3], const double *y, size_t n, double x[3]) {
    double a[3][4] = {{0}}, left = 0;
    for (size_t i = 0; i < n; i++)
        for (int r = 0; r < 3; r++) {
            for (int c = 0; c < 3; c++) a[r][c] += f[i][r] * f[i][c];
            a[r][3] += f[i][r] * y[i];
        }
    const double trace = a[0][0] + a[1][1] + a[2][2];
    for (int p = 0; p < 3; p++) {
        if (!(a[p][p] > 1e-9 * trace)) return INFINITY;
        for (int r = 0; r < 3; r++) {
            const double times = r == p ? 0 : a[r][p] / a[p][p];
            for (int c = 0; c < 4; c++) a[r][c] -= times * a[p][c];
        }
    }
    for (int p = 0; p < 3; p++) x[p] = a[p][3] / a[p][p];
    for (size_t i = 0; i < n; i++) {
        const double rest = y[i] - x[0] * f[i][0] - x[1] * f[i][1] - x[2] * f[i][2];
        left += rest * rest;
    }
    return left / (double)n;
}

/* A point (x, y) falls on u = M (x cos t + y sin t) / (1 + (y cos t - x sin t) / sod): u is linear in x, y and M c. */
static double left_of_middle(const track *t, double factor, double *depth) {
    double f[VIEWS][3], x[3];
    for (size_t i = 0; i < t->views; i++) {
        const double a = factor * t->angle[i], u = t->sod > 0 ? t->middle[i] / t->sod : 0;
        f[i][0] = 1;
        f[i][1] = cos(a) + u * sin(a);
        f[i][2] = sin(a) - u * cos(a);
    }
    const double left = left_of(f, t->middle, t->views, x);
    for (size_t i = 0; i < t->views; i++) {
        const double a = factor * t->angle[i];
        depth[i] = t->sod > 0 && isfinite(left) ? 1 + (x[2] * cos(a) - x[1] * sin(a)) / t->sod : 1;
    }
    return left;
}

static double left_of_spread(const track *t, double factor, const double *depth) {
    double f[VIEWS][3], y[VIEWS], x[3];
    for (size_t i = 0; i < t->views; i++) {
        const double a = 2 * factor * t->angle[i];
        f[i][0] = 1, f[i][1] = cos(a), f[i][2] = sin(a);
        y[i] = t->spread[i] * depth[i] * depth[i];
    }
    return left_of(f, y, t->views, x);
}

static double variance(const double *y, size_t n, double *mean) {
    double sum = 0, square = 0;
    for (size_t i = 0; i < n; i++) sum += y[i];
    *mean = sum / (double)n;
    for (size_t i = 0; i < n; i++) square += (y[i] - *mean) * (y[i] - *mean);
    return square / (double)n;
}

/* An object that leaves the row in some views has not the same mass in all. */
static bool is_steady(const track *t) {
    double mean;
    const double most = t->sod > 0 ? 0.1 : 0.05, square = variance(t->mass, t->views, &mean);
    return sqrt(square) < most * mean;
}

/* ---- gathering ---- */

/* Where rays are, as far as it matters. */
typedef struct placing {
    double *radians; /* [views] */
    double sod, middle_row,
        most_rows;       /* columns at the axis; of a cone only rows this near the middle one are looked at */
    double scale, shift; /* columns on the detector to those at the axis: (middle + shift) * scale */
    bool cone, usable;
} placing;

static qb_status place(const qb__turn_asked *asked, size_t views, placing *p) {
    const double OFF = 2, LEAN = 0.03; /* pixels from an ideal circle; of a ray above or below the middle plane */
    qb__circle circle;
    *p = (placing){.scale = 1, .cone = asked->cone, .usable = true, .most_rows = INFINITY};
    qb_status status = qb__alloc(views, sizeof *p->radians, &p->radians);
    if (status != QB_OK) return status;
    if (asked->radians)
        for (size_t i = 0; i < views; i++) p->radians[i] = asked->radians[i];
    if (!asked->geometry) return QB_OK;
    if (!asked->radians) qb__view_angles(asked->geometry, p->radians);
    if (qb__circle_fit(asked->geometry, &circle) != QB_OK || !(circle.error < OFF)) {
        p->usable = false;
        return QB_OK;
    }
    p->cone = circle.beam == QB_BEAM_CONE;
    if (!p->cone) return QB_OK;
    p->scale = circle.sod / circle.sdd;
    p->sod = circle.sod / circle.pixel_u;
    p->shift = 0.5 * ((double)asked->geometry->columns - 1) - circle.column;
    p->middle_row = circle.row;
    if (!asked->geometry->apart) p->most_rows = fmax(1, LEAN * circle.sdd / circle.pixel_v);
    return QB_OK;
}

static bool gather(const qb__line_mass *lines, const placing *p, track *t) {
    size_t looked = 0;
    double spread;
    *t = (track){.sod = p->sod};
    for (size_t v = 0; v < VIEWS; v++) {
        const qb__line_mass *m = &lines[v];
        looked += m->looked;
        if (!m->whole || !(fabs((double)m->row - p->middle_row) < p->most_rows)) continue;
        t->angle[t->views] = p->radians[m->view];
        t->middle[t->views] = (m->middle + p->shift) * p->scale;
        t->spread[t->views] = m->spread * p->scale * p->scale;
        t->noise = fmax(t->noise, m->noise);
        t->mass[t->views++] = m->mass;
    }
    if (t->views < FEWEST || 10 * t->views < 9 * looked) return false;
    variance(t->spread, t->views, &spread);
    t->floor[0] = 0.1 + (p->cone ? 0.02 : 0.005) * sqrt(spread);
    t->floor[1] = (p->cone ? 0.03 : 0.01) * spread + 0.1 * sqrt(spread);
    return is_steady(t);
}

/* ---- judging ---- */

/* Mean squares of what is left, of the two, with what imperfect data leave. */
static void fit_track(const track *t, double left[FACTORS][2]) {
    double depth[VIEWS];
    for (int k = 0; k < FACTORS; k++) {
        left[k][0] = left_of_middle(t, factors[k], depth) + t->floor[0] * t->floor[0];
        left[k][1] = left_of_spread(t, factors[k], depth) + t->floor[1] * t->floor[1];
    }
}

static qb_status fit_lines(const qb__line_mass *lines, const qb__turn_asked *asked, size_t views, turn_fit *fit) {
    const double WORSE = 0.3; /* ln: of what fits better neither may fit worse */
    double gain[FACTORS][2] = {{0}}, misfit[GROUPS], moved[GROUPS], mean;
    placing p;
    *fit = (turn_fit){.factor = 1, .better = 1};
    const qb_status status = place(asked, views, &p);
    for (size_t g = 0; g < GROUPS && status == QB_OK && p.usable; g++) {
        double left[FACTORS][2];
        track t;
        if (!gather(lines + g * VIEWS, &p, &t)) continue;
        fit_track(&t, left);
        if (!isfinite(left[0][0] + left[0][1])) continue;
        for (int k = 0; k < FACTORS; k++)
            for (int i = 0; i < 2; i++) gain[k][i] += log(left[0][i] / left[k][i]);
        moved[fit->rows] = sqrt(variance(t.middle, t.views, &mean));
        misfit[fit->rows++] = sqrt(left[0][0]);
        fit->noise = fmax(fit->noise, t.noise);
    }
    qb__free(p.radians);
    if (!fit->rows) return status;
    for (int k = 1; k < FACTORS; k++) {
        const double rows = (double)fit->rows, both = (gain[k][0] + gain[k][1]) / rows;
        if (!(fmin(gain[k][0], gain[k][1]) > -WORSE * rows) || !(exp(0.5 * both) > fit->better)) continue;
        fit->factor = factors[k];
        fit->better = exp(0.5 * both);
    }
    fit->moved = qb__median(moved, fit->rows);
    fit->misfit = qb__median(misfit, fit->rows);
    return QB_OK;
}

/* Degrees that the views cover, each with the step to the next. */
static double span_of(const double *radians, size_t n) {
    return (radians[n - 1] - radians[0]) * degree * (double)n / (double)(n - 1);
}

/* ", that the file states", the remedy. */
static void remedy_of(const qb__turn_asked *asked, const double *radians, size_t n, double factor, char *text,
                      size_t size) {
    const double first = radians[0] * degree, step = (radians[n - 1] - radians[0]) / (double)(n - 1);
    bool even = n > 1;
    for (size_t i = 0; i + 1 < n; i++) even &= fabs(radians[i + 1] - radians[i] - step) < 0.01 * fabs(step);
    const bool options = !asked->file && !(asked->geometry && asked->geometry->read_from);
    if (options && even)
        qb__print(text, size, "if so, give --angles %.6g:%.6g", first, first + factor * step * (double)n * degree);
    else if (options)
        qb__print(text, size, "if so, mend --angles");
    else
        qb__print(text, size, "check the angles of the geometry");
}

static qb_status tell(const turn_fit *fit, const qb__turn_asked *asked, size_t views, const qb_env *env,
                      cJSON *report) {
    char remedy[120];
    placing p;
    const qb_status status = place(asked, views, &p);
    if (status != QB_OK) return status;
    const double stated = fabs(span_of(p.radians, views));
    remedy_of(asked, p.radians, views, fit->factor, remedy, sizeof remedy);
    qb__free(p.radians);
    if (fit->factor == 1)
        qb__warn(
            env,
            "the centre of mass of the rows does not move as an object that turns by the stated angles: %.3g columns "
            "off, of %.3g; check --angles, or the object moved" QB__CODE("angles-misfit"),
            fit->misfit, fit->moved);
    else
        qb__warn(env,
                 "the views are stated to cover %.4g degrees, but move as over %.4g, which fits %.2g times better: "
                 "%s" QB__CODE("angle-span"),
                 stated, fit->factor * stated, fit->better, remedy);
    cJSON *json = report ? cJSON_AddObjectToObject(report, "angle_span") : NULL;
    if (!json) return QB_OK;
    cJSON_AddNumberToObject(json, "stated", stated);
    cJSON_AddNumberToObject(json, "fits", fit->factor * stated);
    cJSON_AddNumberToObject(json, "better", fit->better);
    return QB_OK;
}

qb_status qb__turn_check(const qb__line_mass *lines, const qb__turn_asked *asked, size_t views, const qb_env *env,
                         cJSON *report, bool *told) {
    const double MUCH = 4, OFF = 3, SHARE = 0.7;
    turn_fit fit;
    if (views < FEWEST || !(asked->radians || asked->geometry)) return QB_OK;
    const qb_status status = fit_lines(lines, asked, views, &fit);
    if (status != QB_OK || !fit.rows) return status;
    if (fit.factor != 1 && fit.better < MUCH) fit.factor = 1;
    if (fit.factor == 1 && !(fit.misfit > OFF + 5 * fit.noise && fit.misfit > SHARE * fit.moved)) return QB_OK;
    if (told) *told = true;
    return tell(&fit, asked, views, env, report);
}
