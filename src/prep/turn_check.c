/* SPDX-License-Identifier: MIT */
/* Checks whether the views turn as their angles state. */
#include "prep/turn_check.h"

#include <math.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/status.h"
#include "base/warning.h"
#include "geometry/circle.h"

enum { VIEWS = QB__SAMPLE_VIEWS, GROUPS = QB__SAMPLE_GROUPS, FEWEST = 12 };
static const double degree = 57.29577951308232;

/* True if the object has the same mass in all views, as it has if it does not leave the row. */
static bool is_steady(const qb__turn_track *t) {
    double mean;
    const double most = t->sod > 0 ? 0.1 : 0.05, square = qb__turn_variance(t->mass, t->views, &mean);
    return sqrt(square) < most * mean;
}

/* ---- gathering ---- */

/* Positions of rays, as far as this check needs them. */
typedef struct placing {
    double *radians;                   /* [views] */
    double sod, middle_row, most_rows; /* columns at the axis; for a cone only rows this near the middle one are used */
    double scale, shift; /* conversion of columns on the detector to those at the axis: (middle + shift) * scale */
    bool cone, usable;
} placing;

static qb_status place(const qb__turn_asked *asked, size_t views, placing *p) {
    const double OFF = 2, LEAN = 0.03; /* pixels from an ideal circle; of a ray above or below the middle plane */
    qb__circle circle;
    *p = (placing){.scale = 1, .cone = asked->cone, .usable = true, .most_rows = INFINITY};
    QB__OR_RETURN(qb__alloc(views, sizeof *p->radians, &p->radians));
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

static bool gather(const qb__line_mass *lines, const placing *p, qb__turn_track *t, double *noise) {
    const double middle = p->cone ? 0.02 : 0.005, spread = p->cone ? 0.03 : 0.004, width = p->cone ? 0.1 : 0.05,
                 SKEW = 0.02;
    size_t looked = 0;
    double wide;
    *t = (qb__turn_track){.sod = p->sod};
    for (size_t v = 0; v < VIEWS; v++) {
        const qb__line_mass *m = &lines[v];
        looked += m->looked;
        if (!m->whole || !(fabs((double)m->row - p->middle_row) < p->most_rows)) continue;
        t->angle[t->views] = p->radians[m->view];
        t->moment[0][t->views] = (m->middle + p->shift) * p->scale;
        t->moment[1][t->views] = m->spread * p->scale * p->scale;
        t->moment[2][t->views] = m->skew;
        t->mass[t->views++] = m->mass;
        *noise = fmax(*noise, m->noise);
    }
    if (t->views < FEWEST || 10 * t->views < 9 * looked) return false;
    qb__turn_variance(t->moment[1], t->views, &wide);
    t->floor[0] = 0.1 + middle * sqrt(wide);
    t->floor[1] = spread * wide + width * sqrt(wide);
    t->floor[2] = SKEW * wide * sqrt(wide);
    return is_steady(t);
}

/* ---- judging ---- */

/* Degrees that the views cover, if each view covers the step to the next one. */
static double span_of(const double *radians, size_t n) {
    return (radians[n - 1] - radians[0]) * degree * (double)n / (double)(n - 1);
}

static qb_status fit_lines(const qb__line_mass *lines, const qb__turn_asked *asked, size_t views, double least,
                           qb__turn_fit *fit, double *noise) {
    qb__turn_track *tracks = NULL;
    size_t count = 0;
    placing p;
    qb_status status = place(asked, views, &p);
    if (status == QB_OK) status = qb__alloc(GROUPS, sizeof *tracks, &tracks);
    for (size_t g = 0; g < GROUPS && status == QB_OK && p.usable; g++)
        count += gather(lines + g * VIEWS, &p, &tracks[count], noise);
    if (status == QB_OK) qb__turn_fit_tracks(tracks, count, fabs(span_of(p.radians, views)), least, fit);
    QB__FREE(tracks, p.radians);
    return status;
}

/* Make the remedy, with text on who states the angles, such as ", that the file states". */
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

static qb_status tell(const qb__turn_fit *fit, const qb__turn_asked *asked, size_t views, const qb_env *env,
                      cJSON *report) {
    char remedy[120];
    placing p;
    QB__OR_RETURN(place(asked, views, &p));
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
    const bool cone = asked->geometry ? asked->geometry->beam == QB_BEAM_CONE : asked->cone;
    const double MUCH = cone ? 4 : 2.5, MUCH_OF_NOISE = 4, NOISY = 0.5, OFF = 3, SHARE = 0.7; /* NOISY: columns */
    double noise = 0;
    qb__turn_fit fit;
    if (views < FEWEST || !(asked->radians || asked->geometry)) return QB_OK;
    const qb_status status = fit_lines(lines, asked, views, MUCH, &fit, &noise);
    if (status != QB_OK || !fit.rows) return status;
    if (noise > NOISY && fit.better < MUCH_OF_NOISE) fit.factor = 1;
    if (fit.factor == 1 && !(fit.misfit > OFF + 5 * noise && fit.misfit > SHARE * fit.moved)) return QB_OK;
    if (told) *told = true;
    return tell(&fit, asked, views, env, report);
}
