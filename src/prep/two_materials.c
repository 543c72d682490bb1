/* SPDX-License-Identifier: MIT */
#include "prep/spectrum.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/status.h"

enum { STEPS = 256, LENGTHS = 128 };

static const char option[] = "--hardening two:";
static const char prefix[] = "two:";
static const double END = 14; /* -ln of the smallest transmission */

bool qb__two_wanted(const qb_prep_options *options) {
    return options && options->hardening && strncmp(options->hardening, prefix, strlen(prefix)) == 0;
}

/* ---- text ---- */

/* Parts of the text: "MATERIAL,KV..." for each material, and the number after above:, NAN if it is not given. */
typedef struct parts {
    char base[QB__TWO_TEXT], dense[QB__TWO_TEXT];
    double above;
} parts;

static qb_status take_above(const char *of, const char *text, char *beam, double *above) {
    static const char name[] = ",above:";
    char *at = strstr(beam, name), *end;
    *above = NAN;
    if (!at) return QB_OK;
    *above = qb__strtod(at + strlen(name), &end);
    if (end == at + strlen(name) || (*end && *end != ',') || !(*above > 0 && *above < 1e6))
        return qb__fail(QB_BAD_ARGUMENT, "%s%s: above: takes an attenuation in 1/mm above 0", of, text);
    memmove(at, end, strlen(end) + 1);
    return QB_OK;
}

static qb_status split(const char *of, const char *text, parts *p) {
    char beam[QB__TWO_TEXT];
    const char *plus = strchr(text, '+'), *comma = strchr(text, ',');
    if (!plus || !comma || plus > comma || strlen(text) >= QB__TWO_TEXT)
        return qb__fail(QB_BAD_ARGUMENT, "%s%.200s: give BASE+DENSE,KV[,FILTER:MM...][,at:KEV], as water+bone,120,al:2",
                        of, text);
    snprintf(beam, sizeof beam, "%s", comma);
    const qb_status status = take_above(of, text, beam, &p->above);
    qb__print(p->base, sizeof p->base, "%.*s%s", (int)(plus - text), text, beam);
    qb__print(p->dense, sizeof p->dense, "%.*s%s", (int)(comma - plus - 1), plus + 1, beam);
    return status;
}

qb_status qb__two_base(const char *text, char base[QB__TWO_TEXT]) {
    parts p;
    const qb_status status = split(option, text + strlen(prefix), &p);
    if (status == QB_OK) qb__print(base, QB__TWO_TEXT, "spectrum:%s", p.base);
    return status;
}

/* ---- the beam through both ---- */

qb_status qb__two_beam_parse(const char *of, const char *text, qb__two_beam *b, double *above) {
    parts p;
    qb_status status = split(of, text, &p);
    if (status == QB_OK && !above && !isnan(p.above))
        status = qb__fail(QB_BAD_ARGUMENT, "%s%s: above: has no meaning here; leave it out", of, text);
    if (status == QB_OK) status = qb__spectrum_parse(of, p.base, &b->base);
    if (status == QB_OK) status = qb__spectrum_parse(of, p.dense, &b->dense);
    if (status == QB_OK && above) *above = p.above;
    if (status != QB_OK || b->dense.reference > 1.1 * b->base.reference) return status;
    return qb__fail(QB_BAD_ARGUMENT, "%s%s: the second material (%.4g/mm) must be denser than the first (%.4g/mm)", of,
                    text, b->dense.reference, b->base.reference);
}

qb_status qb__two_parse(const char *text, qb__two *two, qb__two_beam *b) {
    double above = NAN;
    *two = (qb__two){0};
    QB__OR_RETURN(qb__two_beam_parse(option, text + strlen(prefix), b, &above));
    *two = (qb__two){.base = b->base.reference, .dense = b->dense.reference};
    two->above = isnan(above) ? sqrt(two->base * two->dense) : above;
    if (two->above > two->base) return QB_OK;
    return qb__fail(QB_BAD_ARGUMENT, "--hardening %s: above:%g must be more than the %.4g/mm of the first material",
                    text, two->above, two->base);
}

/* The hardest bin is factored out of the sum, whose terms would underflow for long paths. */
double qb__two_beam_line(const qb__two_beam *b, double w, double d, double *slope) {
    double least = INFINITY, sum = 0, weighted = 0, path[QB__SPECTRUM_BINS];
    for (size_t i = 0; i < b->base.bins; i++) {
        path[i] = b->base.mu[i] * w + b->dense.mu[i] * d;
        least = fmin(least, path[i]);
    }
    for (size_t i = 0; i < b->base.bins; i++) {
        const double part = b->base.share[i] * exp(least - path[i]);
        sum += part, weighted += part * b->base.mu[i];
    }
    if (slope) *slope = weighted / sum;
    return least - log(sum);
}

/* Solve for w by Newton's method from *w. */
static double length_of(const qb__two_beam *b, double p, double d, double from) {
    double w = from, slope;
    for (int i = 0; i < 60; i++) {
        const double step = (p - qb__two_beam_line(b, w, d, &slope)) / slope;
        w += step;
        if (!(fabs(step) > 1e-9 * (fabs(w) + 1e-3))) break;
    }
    return w;
}

/* Rows of the table are lengths in steps of their root, because short ones matter most. */
static double length_at(const qb__two *two, int i) {
    const double x = (double)i / LENGTHS;
    return two->longest * x * x;
}

/* A ray with less attenuation than the dense material alone would cause has a shorter path in it. */
static void tabulate_length(const qb__two_beam *b, double d, const qb__two *two, float *row) {
    double w = 0;
    const double alone = qb__two_beam_line(b, 0, d, NULL);
    for (int k = 0; k <= STEPS; k++) {
        const double p = END * k / STEPS;
        double line;
        if (p < alone)
            line = qb__spectrum_length(&b->dense, p) * two->dense;
        else
            line = (w = length_of(b, p, d, w)) * two->base + d * two->dense;
        row[k] = (float)qb__spectrum_line(&b->base, line / two->base);
    }
}

qb_status qb__two_tabulate(const qb__two_beam *b, qb__two *two) {
    QB__OR_RETURN(qb__alloc((LENGTHS + 1) * (STEPS + 1), sizeof *two->table, &two->table));
    two->longest = qb__spectrum_length(&b->dense, END);
    for (int i = 0; i <= LENGTHS; i++) tabulate_length(b, length_at(two, i), two, two->table + i * (STEPS + 1));
    return QB_OK;
}

void qb__two_clear(qb__two *two) {
    qb__free(two->table);
    two->table = NULL;
}

float qb__two_line(const qb__two *two, float p, float d) {
    const float x = LENGTHS * sqrtf(fminf(d / (float)two->longest, 1)), y = p * (float)(STEPS / END);
    const int i = x < LENGTHS ? (int)x : LENGTHS - 1, k = y <= 0 ? 0 : y < STEPS ? (int)y : STEPS - 1;
    /* b may lie outside 0..1: beyond the ends of p the table is continued linearly */
    const float a = x - (float)i, b = y - (float)k;
    const float *low = two->table + (size_t)i * (STEPS + 1) + k, *high = low + STEPS + 1;
    return (1 - a) * (low[0] + b * (low[1] - low[0])) + a * (high[0] + b * (high[1] - high[0]));
}
