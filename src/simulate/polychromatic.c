/* SPDX-License-Identifier: MIT */
#include "simulate/polychromatic.h"

#include <math.h>

#include "base/memory.h"
#include "base/status.h"
#include "prep/spectrum.h"

enum { STEPS = 8192 };

qb_status qb__polychromatic_create(const char *text, qb__polychromatic *p) {
    const double END = 40;
    qb__spectrum *s = NULL;
    *p = (qb__polychromatic){.end = END};
    if (!text || !*text) return QB_OK;
    qb_status status;
    QB__TRY(qb__alloc(1, sizeof *s, &s));
    QB__TRY(qb__spectrum_parse("--spectrum ", text, s));
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

void qb__polychromatic_destroy(qb__polychromatic *p) { qb__free(p->ratio); }

void qb__polychromatic_apply(const qb__polychromatic *p, size_t count, double *line) {
    if (!p->ratio) return;
    for (size_t c = 0; c < count; c++) {
        const double x = fmin(fmax(line[c], 0), p->end), at = x / p->end * STEPS;
        const size_t i = at < STEPS ? (size_t)at : STEPS - 1;
        const double ratio = p->ratio[i] + (at - (double)i) * (p->ratio[i + 1] - p->ratio[i]);
        line[c] = x * ratio + (line[c] - x) * (line[c] > 0 ? p->slope : p->ratio[0]);
    }
}
