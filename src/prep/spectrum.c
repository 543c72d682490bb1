/* SPDX-License-Identifier: MIT */
#include "prep/spectrum.h"

#include <math.h>
#include <string.h>

#include "base/number.h"
#include "base/status.h"

#define FORM "MATERIAL,KV[,FILTER:MM...][,at:KEV], materials " QB__MATERIALS

/* The signal after the filters at each energy, while they are parsed. */
typedef struct beam {
    const char *option, *text;
    double kv, at;
    double filtered[QB__SPECTRUM_BINS]; /* -ln of the transmission of the filters */
} beam;

static double middle(const beam *b, size_t bins, size_t i) {
    return QB__LEAST_KEV + (b->kv - QB__LEAST_KEV) * ((double)i + 0.5) / (double)bins;
}

static qb_status wrong(const beam *b, const char *what) {
    return qb__fail(QB_BAD_ARGUMENT, "%s%s: %s: give " FORM, b->option, b->text, what);
}

static qb_status take_kv(beam *b, const char **at) {
    char *end;
    b->kv = qb__strtod(*at, &end);
    if (end == *at || (*end && *end != ',')) return wrong(b, "its second part is no voltage");
    *at = end;
    if (b->kv <= QB__LEAST_KEV)
        return qb__fail(QB_BAD_ARGUMENT, "%s%s: no flux: nothing below %g keV leaves the tube; give its voltage in kV",
                        b->option, b->text, QB__LEAST_KEV);
    if (b->kv <= QB__MOST_KEV) return QB_OK;
    return qb__fail(QB_BAD_ARGUMENT, "%s%s: %g kV; tables of attenuation end at %g keV", b->option, b->text, b->kv,
                    QB__MOST_KEV);
}

/* Parse ",FILTER:MM" or ",at:KEV". */
static qb_status take_part(beam *b, size_t bins, const char **at) {
    const char *name = *at + 1, *colon = strchr(name, ':');
    char *end;
    if (!colon) return wrong(b, "a part without a colon");
    const double value = qb__strtod(colon + 1, &end);
    if (end == colon + 1 || (*end && *end != ',')) return wrong(b, "no number behind a colon");
    *at = end;
    if ((size_t)(colon - name) == 2 && strncmp(name, "at", 2) == 0) {
        b->at = value;
        if (value >= QB__LEAST_KEV && value <= QB__MOST_KEV) return QB_OK;
        return qb__fail(QB_BAD_ARGUMENT, "%s%s: at:%g is not from %g to %g keV", b->option, b->text, value,
                        QB__LEAST_KEV, QB__MOST_KEV);
    }
    const qb__material *filter = qb__material_find(name, (size_t)(colon - name));
    if (!filter) return wrong(b, "there is no such filter");
    if (!(value >= 0 && value <= 1000)) return wrong(b, "a filter is from 0 to 1000 mm thick");
    for (size_t i = 0; i < bins; i++) b->filtered[i] += value * qb__material_mu(filter, middle(b, bins, i));
    return QB_OK;
}

static qb_status weigh(const beam *b, qb__spectrum *s) {
    const double LEAST_FLUX = 1e-9;
    double all = 0, left = 0, thin = 0;
    for (size_t i = 0; i < s->bins; i++) {
        const double made = b->kv - middle(b, s->bins, i);
        s->share[i] = made * exp(-b->filtered[i]);
        all += made, left += s->share[i];
    }
    if (!(left > LEAST_FLUX * all))
        return qb__fail(QB_BAD_ARGUMENT, "%s%s: no flux: its filters let %.2g of the beam pass; are they in mm?",
                        b->option, b->text, left / all);
    for (size_t i = 0; i < s->bins; i++) s->share[i] /= left, thin += s->share[i] * s->mu[i];
    if (!(s->reference > 0)) s->reference = thin;
    return QB_OK;
}

qb_status qb__spectrum_parse(const char *option, const char *text, qb__spectrum *s) {
    beam b = {.option = option, .text = text};
    const char *at = text + strcspn(text, ",");
    const qb__material *material = qb__material_find(text, (size_t)(at - text));
    *s = (qb__spectrum){.bins = QB__SPECTRUM_BINS};
    if (!material) return wrong(&b, "there is no such material");
    if (!*at++) return wrong(&b, "the voltage is missing");
    qb_status status = take_kv(&b, &at);
    if (status != QB_OK) return status;
    s->bins = (size_t)fmin(QB__SPECTRUM_BINS, fmax(100, 2 * (b.kv - QB__LEAST_KEV)));
    while (*at && status == QB_OK) status = take_part(&b, s->bins, &at);
    if (status != QB_OK) return status;
    for (size_t i = 0; i < s->bins; i++) s->mu[i] = qb__material_mu(material, middle(&b, s->bins, i));
    if (b.at > 0) s->reference = qb__material_mu(material, b.at);
    return weigh(&b, s);
}

/* Line integral behind a length, and its slope in *slope. The hardest bin is factored out of the sum, whose terms would
 * underflow for long lengths. */
static double line_of(const qb__spectrum *s, double length, double *slope) {
    double least = s->mu[0], sum = 0, weighted = 0;
    for (size_t i = 1; i < s->bins; i++) least = fmin(least, s->mu[i]);
    for (size_t i = 0; i < s->bins; i++) {
        const double part = s->share[i] * exp((least - s->mu[i]) * length);
        sum += part, weighted += part * s->mu[i];
    }
    *slope = weighted / sum;
    return least * length - log(sum);
}

double qb__spectrum_line(const qb__spectrum *s, double length) {
    double slope;
    return line_of(s, length, &slope);
}

/* Newton's steps from 0 never overshoot, because the slope of the line decreases with the length. */
double qb__spectrum_length(const qb__spectrum *s, double line) {
    double length = 0, slope;
    for (int i = 0; i < 60; i++) {
        const double step = (line - line_of(s, length, &slope)) / slope;
        length += step;
        if (!(fabs(step) > 1e-12 * length)) break;
    }
    return length;
}
