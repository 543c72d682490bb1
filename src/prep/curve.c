/* SPDX-License-Identifier: MIT */
#include "prep/dense.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/pchip.h"
#include "base/status.h"
#include "io/plain/source.h"
#include "prep/spectrum.h"

enum { POINTS = 4096, MOST_TEXT = 1 << 20 };

/* ---- A[,B] ---- */

double qb__curve_turns(const qb__hardening_curve *c) {
    const double a = (double)c->a, b = (double)c->b, under = a * a - 3 * b;
    if (c->table || under < 0) return INFINITY;
    const double rest =
        sqrt(under) - a; /* the roots of 1 + 2 a p + 3 b p^2 are 1 / rest, and another one that is larger or negative */
    return rest > 0 ? 1 / rest : INFINITY;
}

static qb_status take_numbers(const char *text, qb__hardening_curve *c) {
    const double LEAST = 1, MOST = 10;
    double number[2] = {0, 0};
    const char *at = text;
    for (int i = 0; i < 2 && *at; i++) {
        char *end;
        number[i] = qb__strtod(at, &end);
        if (end == at || !(fabs(number[i]) <= MOST)) break;
        at = *end == ',' && end[1] && i == 0 ? end + 1 : end;
    }
    if (*at)
        return qb__fail(
            QB_BAD_ARGUMENT,
            "--hardening %s: give A or A,B, numbers up to %g, or table:FILE, spectrum:MATERIAL,KV or two:...", text,
            MOST);
    c->a = (float)number[0], c->b = (float)number[1];
    const double turns = qb__curve_turns(c);
    if (turns >= LEAST) return QB_OK;
    return qb__fail(
        QB_BAD_ARGUMENT,
        "--hardening: the curve falls from p = %.3g on, it must rise at least up to %g: give A of 0 or more", turns,
        LEAST);
}

/* ---- tables ---- */

/* The ratio of m to p at step i of the table. */
typedef double ratio_fn(const void *context, double p);

static qb_status tabulate(qb__hardening_curve *c, double end, ratio_fn *ratio, const void *context, double slope) {
    c->table = true;
    c->end = (float)end, c->per_step = (float)(QB__CURVE_STEPS / end), c->slope = (float)slope;
    for (int i = 0; i <= QB__CURVE_STEPS; i++) c->ratio[i] = (float)ratio(context, end * i / QB__CURVE_STEPS);
    enum { EACH = 16 };
    const size_t room = 32 + (QB__CURVE_STEPS + 1) * EACH;
    QB__OR_RETURN(qb__alloc(room, 1, &c->macro));
    size_t at = (size_t)qb__print(c->macro, room, "HARDENING_RATIOS={");
    for (int i = 0; i <= QB__CURVE_STEPS; i++)
        at += (size_t)qb__print(c->macro + at, room - at, "%.8ef%s", (double)c->ratio[i],
                                i < QB__CURVE_STEPS ? "," : "}");
    return QB_OK;
}

typedef struct points {
    const char *path;
    size_t count;
    double p[POINTS], m[POINTS];
} points;

static double ratio_of_points(const void *context, double p) {
    const points *t = context;
    return p > 0 ? qb__pchip(t->p, t->m, t->count, p) / p : qb__pchip_slope(t->p, t->m, t->count, 0);
}

static qb_status take_line(points *t, const char *line) {
    char *end;
    const double p = qb__strtod(line, &end);
    const char *second = end + strspn(end, " \t,;");
    const double m = qb__strtod(second, &end);
    const size_t last = t->count - 1;
    if (second == line || end == second || end[strspn(end, " \t\r")] || !isfinite(p) || !isfinite(m))
        return qb__fail(QB_BAD_INPUT, "--hardening table:%s: line \"%.60s\" is not two numbers, measured and true",
                        t->path, line);
    if (p == 0 && m == 0 && last == 0) return QB_OK;
    if (!(p > t->p[last] && m > t->m[last]))
        return qb__fail(QB_BAD_INPUT,
                        "--hardening table:%s: %g, %g does not lie above %g, %g: both columns must rise from 0 on",
                        t->path, p, m, t->p[last], t->m[last]);
    if (t->count == POINTS)
        return qb__fail(QB_BAD_INPUT, "--hardening table:%s: more than %d lines", t->path, POINTS - 1);
    t->p[t->count] = p, t->m[t->count++] = m;
    return QB_OK;
}

static qb_status take_table(const char *path, qb__hardening_curve *c) {
    char *text = NULL, *rest = NULL;
    points *t = NULL;
    qb_status status;
    QB__TRY(qb__alloc(1, sizeof *t, &t));
    *t = (points){.path = path, .count = 1}; /* (0, 0) */
    QB__TRY(qb__read_text(path, MOST_TEXT, &text));
    for (char *line = strtok_r(text, "\r\n", &rest); line; line = strtok_r(NULL, "\r\n", &rest)) {
        line += strspn(line, " \t");
        if (*line && *line != '#') QB__TRY(take_line(t, line));
    }
    if (t->count < 3) {
        status = qb__fail(QB_BAD_INPUT,
                          "--hardening table:%s has %zu lines: give two or more, of measured and true line integrals",
                          path, t->count - 1);
        goto out;
    }
    status = tabulate(c, t->p[t->count - 1], ratio_of_points, t, qb__pchip_slope(t->p, t->m, t->count, t->count - 1));
out:
    QB__FREE(text, t);
    return status;
}

/* ---- spectra ---- */

static double ratio_of_spectrum(const void *context, double p) {
    const qb__spectrum *s = context;
    double thin = 0;
    if (p > 0) return qb__spectrum_length(s, p) * s->reference / p;
    for (size_t i = 0; i < s->bins; i++) thin += s->share[i] * s->mu[i];
    return s->reference / thin;
}

static qb_status take_spectrum(const char *text, qb__hardening_curve *c) {
    const double END = 14, STEP = 1e-3; /* -ln of the smallest transmission */
    qb__spectrum *s;
    qb_status status = qb__alloc(1, sizeof *s, &s);
    if (status == QB_OK) status = qb__spectrum_parse("--hardening spectrum:", text, s);
    if (status == QB_OK) {
        const double last = qb__spectrum_length(s, END), before = qb__spectrum_length(s, END - STEP);
        status = tabulate(c, END, ratio_of_spectrum, s, (last - before) / STEP * s->reference);
    }
    qb__free(s);
    return status;
}

/* Make the curve of the light material. Rays through the dense material were corrected before (prep/dense.h). */
static qb_status take_two(const char *text, qb__hardening_curve *c) {
    char base[QB__TWO_TEXT];
    const qb_status status = qb__two_base(text, base);
    return status == QB_OK ? take_spectrum(strchr(base, ':') + 1, c) : status;
}

/* ---- all kinds ---- */

qb_status qb__curve_create(const char *text, qb__hardening_curve **curve) {
    static const char table[] = "table:", spectrum[] = "spectrum:", two[] = "two:";
    qb__hardening_curve *c = NULL;
    *curve = NULL;
    if (!text || !*text || strcmp(text, "none") == 0) return QB_OK;
    qb_status status = qb__alloc(1, sizeof *c, &c);
    if (status != QB_OK) return status;
    if (strncmp(text, table, strlen(table)) == 0)
        status = take_table(text + strlen(table), c);
    else if (strncmp(text, spectrum, strlen(spectrum)) == 0)
        status = take_spectrum(text + strlen(spectrum), c);
    else if (strncmp(text, two, strlen(two)) == 0)
        status = take_two(text, c);
    else
        status = take_numbers(text, c);
    if (status == QB_OK)
        *curve = c;
    else
        qb__curve_destroy(c);
    return status;
}

void qb__curve_destroy(qb__hardening_curve *curve) {
    if (curve) qb__free(curve->macro);
    qb__free(curve);
}

enum { BLOCK = 128 };

/* Three loops, so that the compiler vectorises the first and the last. */
static void look_up(const qb__hardening_curve *c, size_t count, const float *in, float *out) {
    const float end = c->end, per_step = c->per_step, slope = c->slope, first = c->ratio[0];
    float x[BLOCK], part[BLOCK], ratio[BLOCK];
    int step[BLOCK];
    for (size_t k = 0; k < count; k++) {
        const float low = in[k] > 0 ? in[k] : 0;
        x[k] = low < end ? low : end;
        const float at = x[k] * per_step;
        const int whole = (int)at;
        step[k] = whole < QB__CURVE_STEPS ? whole : QB__CURVE_STEPS - 1;
        part[k] = at - (float)step[k];
    }
    for (size_t k = 0; k < count; k++) {
        const float *r = c->ratio + step[k];
        ratio[k] = r[0] + part[k] * (r[1] - r[0]);
    }
    for (size_t k = 0; k < count; k++) out[k] = x[k] * ratio[k] + (in[k] - x[k]) * (in[k] > 0 ? slope : first);
}

void qb__curve_run(const qb__hardening_curve *c, size_t count, const float *in, float *out) {
    if (c->table) {
        for (size_t i = 0; i < count; i += BLOCK) look_up(c, count - i < BLOCK ? count - i : BLOCK, in + i, out + i);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        float p = in[i];
        out[i] = p + p * (p * (c->a + p * c->b));
    }
}

double qb__curve_at(const qb__hardening_curve *c, double p) {
    float out = (float)p;
    if (!c->table) return p + p * p * ((double)c->a + (double)c->b * p);
    look_up(c, 1, &out, &out);
    return (double)out;
}

double qb__curve_growth(const qb__hardening_curve *c) {
    return c->table ? (double)c->ratio[QB__CURVE_STEPS] / (double)c->ratio[0] : 1;
}

void qb__curve_define(const qb__hardening_curve *c, qb__macros *macros) {
    if (!c->table) {
        qb__macros_add_float(macros, "HARDENING2", c->a);
        qb__macros_add_float(macros, "HARDENING3", c->b);
        return;
    }
    qb__macros_add(macros, "HARDENING_STEPS", QB__CURVE_STEPS);
    qb__macros_add_float(macros, "HARDENING_END", c->end);
    qb__macros_add_float(macros, "HARDENING_PER_STEP", c->per_step);
    qb__macros_add_float(macros, "HARDENING_SLOPE", c->slope);
    qb__macros_add_text(macros, c->macro);
}
