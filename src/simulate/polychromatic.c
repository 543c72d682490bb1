/* SPDX-License-Identifier: MIT */
#include "simulate/simulate.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"

enum { STEPS = 8192 };

/* Dense parts get the attenuation of the second material, where the phantom's value 1.0 was. */
static qb_status take_dense(double attenuation, qb__phantom *phantom, qb__polychromatic *p) {
    const double DENSE = 1.5, reference = p->both->dense.reference;
    qb_status status = qb__alloc(phantom->count, sizeof *p->dense.shape, &p->dense.shape);
    for (size_t i = 0; status == QB_OK && i < phantom->count; i++) {
        qb__ellipsoid *e = &phantom->shape[i];
        if (!(e->value > DENSE * attenuation)) continue;
        e->value = reference - attenuation;
        p->dense.shape[p->dense.count] = *e;
        p->dense.shape[p->dense.count++].value = 1;
    }
    if (status == QB_OK && p->dense.count == 0)
        status =
            qb__fail(QB_BAD_ARGUMENT, "--spectrum: this phantom has no dense parts of a second material: inserts has");
    return status;
}

static qb_status take_two(const char *text, double attenuation, qb__phantom *phantom, qb__polychromatic *p) {
    qb_status status = qb__alloc(1, sizeof *p->both, &p->both);
    if (status == QB_OK) status = qb__two_beam_parse("--spectrum ", text, p->both, NULL);
    return status == QB_OK ? take_dense(attenuation, phantom, p) : status;
}

qb_status qb__polychromatic_create(const char *text, double attenuation, qb__phantom *phantom, qb__polychromatic *p) {

    const double END = 40;
    qb__spectrum *s = NULL;
    *p = (qb__polychromatic){.end = END};
    if (!text || !*text) return QB_OK;
    qb_status status;
    const size_t name = strcspn(text, "+,");
    if (text[name] == '+') QB__TRY(take_two(text, attenuation, phantom, p));
    QB__TRY(qb__alloc(1, sizeof *s, &s));
    if (p->both) *s = p->both->base;
    if (!p->both) QB__TRY(qb__spectrum_parse("--spectrum ", text, s));
    QB__TRY(qb__alloc(STEPS + 1, sizeof *p->ratio, &p->ratio));
    for (size_t i = 0; i < s->bins; i++) p->ratio[0] += s->share[i] * s->mu[i] / s->reference;
    for (int i = 1; i <= STEPS; i++) {
        const double line = END * i / STEPS;
        p->ratio[i] = qb__spectrum_line(s, line / s->reference) / line;
    }
    p->slope = STEPS * (p->ratio[STEPS] - p->ratio[STEPS - 1] * (STEPS - 1) / STEPS);
out:
    qb__free(s);
    return status;
}

void qb__polychromatic_destroy(qb__polychromatic *p) {
    QB__FREE(p->ratio, p->both);
    qb__phantom_destroy(&p->dense);
}

void qb__polychromatic_apply(const qb__polychromatic *p, size_t count, double *line) {
    if (!p->ratio) return;
    for (size_t c = 0; c < count; c++) {
        const double x = fmin(fmax(line[c], 0), p->end), at = x / p->end * STEPS;
        const size_t i = at < STEPS ? (size_t)at : STEPS - 1;
        const double ratio = p->ratio[i] + (at - (double)i) * (p->ratio[i + 1] - p->ratio[i]);
        line[c] = x * ratio + (line[c] - x) * (line[c] > 0 ? p->slope : p->ratio[0]);
    }
}

void qb__polychromatic_apply_two(const qb__polychromatic *p, const qb_geometry *geometry, size_t view, size_t row,
                                 size_t end, double *line, double *dense, void *scratch) {
    qb__phantom_project(&p->dense, geometry, view, row, end, dense, scratch);
    for (size_t i = 0; i < (end - row) * geometry->columns; i++) {
        const double light = fmax(line[i] - dense[i] * p->both->dense.reference, 0);
        if (dense[i] > 0)
            line[i] = qb__two_beam_line(p->both, light / p->both->base.reference, dense[i], NULL);
        else
            qb__polychromatic_apply(p, 1, &line[i]);
    }
}
