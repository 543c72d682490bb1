/* SPDX-License-Identifier: MIT */
#ifndef QB_SIMULATE_POLYCHROMATIC_H
#define QB_SIMULATE_POLYCHROMATIC_H

#include <stddef.h>

#include "geometry/phantom.h"
#include "prep/two_materials.h"

/* Line integrals that a tube's spectrum (prep/spectrum.h) gives for a phantom of one material. */
typedef struct qb__polychromatic {
    double *
        ratio; /* measured line integral / that of one energy, at equal steps of the latter from 0 to `end`; NULL: one energy */
    double end, slope;  /* slope: d measured / d one energy beyond `end` */
    qb__two_beam *both; /* NULL: one material */
    qb__phantom dense;  /* the parts of the second material, as long as they are thick */
} qb__polychromatic;

/* text: MATERIAL,KV[,FILTER:MM...][,at:KEV]; NULL: one energy. BASE+DENSE for a phantom with dense parts, whose values become those of
 * the second material; 1.0 of the others is `attenuation`. */
qb_status qb__polychromatic_create(const char *text, double attenuation, qb__phantom *phantom,
                                   qb__polychromatic *polychromatic);
void qb__polychromatic_destroy(qb__polychromatic *polychromatic);
/* Line integrals of the phantom, at the energy that the spectrum names, to those that are measured. */
void qb__polychromatic_apply(const qb__polychromatic *polychromatic, size_t count, double *line);
/* The same of two materials: rows row <= r < end of a view, as qb__phantom_project(); dense[rows * columns] is room. */
void qb__polychromatic_apply_two(const qb__polychromatic *polychromatic, const qb_geometry *geometry, size_t view,
                                 size_t row, size_t end, double *line, double *dense, void *scratch);

#endif
