/* SPDX-License-Identifier: MIT */
#ifndef QB_SIMULATE_POLYCHROMATIC_H
#define QB_SIMULATE_POLYCHROMATIC_H

#include <stddef.h>

#include "quickbeam/status.h"

/* What a tube's whole spectrum leaves behind a phantom of one material: prep/spectrum.h. */
typedef struct qb__polychromatic {
    double *ratio; /* of its line integrals to the phantom's, at equal steps of those up to `end`; NULL: one energy */
    double end, slope; /* slope: beyond the end */
} qb__polychromatic;

/* text: MATERIAL,KV[,FILTER:MM...][,at:KEV]; NULL: one energy. */
qb_status qb__polychromatic_create(const char *text, qb__polychromatic *polychromatic);
void qb__polychromatic_destroy(qb__polychromatic *polychromatic);
/* Line integrals of the phantom, at the energy that the spectrum names, to those that are measured. */
void qb__polychromatic_apply(const qb__polychromatic *polychromatic, size_t count, double *line);

#endif
