/* SPDX-License-Identifier: MIT */
#ifndef QB_SIMULATE_POLYCHROMATIC_H
#define QB_SIMULATE_POLYCHROMATIC_H

#include <stddef.h>

#include "quickbeam/status.h"

/* Line integrals that a tube's spectrum (prep/spectrum.h) gives for a phantom of one material. */
typedef struct qb__polychromatic {
    double *
        ratio; /* measured line integral / that of one energy, at equal steps of the latter from 0 to `end`; NULL: one energy */
    double end, slope; /* slope: d measured / d one energy beyond `end` */
} qb__polychromatic;

/* text: MATERIAL,KV[,FILTER:MM...][,at:KEV]; NULL: one energy. */
qb_status qb__polychromatic_create(const char *text, qb__polychromatic *polychromatic);
void qb__polychromatic_destroy(qb__polychromatic *polychromatic);
/* Line integrals of the phantom, at the energy that the spectrum names, to those that are measured. */
void qb__polychromatic_apply(const qb__polychromatic *polychromatic, size_t count, double *line);

#endif
