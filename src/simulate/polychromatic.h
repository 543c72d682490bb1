/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>

#include "geometry/phantom.h"
#include "prep/two_materials.h"

/* Line integrals of a polychromatic tube (prep/spectrum.h) through a phantom of one or two materials. */
typedef struct qb__polychromatic {
    /* measured line integral / monochromatic one, at equal steps of the latter from 0 to `end`; NULL: one energy */
    double *ratio;
    double end, slope;  /* slope: d measured / d monochromatic beyond `end` */
    qb__two_beam *both; /* NULL: one material */
    qb__phantom dense;  /* the parts of the second material */
} qb__polychromatic;

/* text: MATERIAL,KV[,FILTER:MM...][,at:KEV]; NULL: one energy. BASE+DENSE for a phantom with dense parts, which get the
 * second material; value 1.0 of the others is `attenuation`. */
qb_status qb__polychromatic_create(const char *text, double attenuation, qb__phantom *phantom,
                                   qb__polychromatic *polychromatic);
void qb__polychromatic_destroy(qb__polychromatic *polychromatic);
/* Convert line integrals at the energy that the spectrum names into measured ones. */
void qb__polychromatic_apply(const qb__polychromatic *polychromatic, size_t count, double *line);
/* The same for two materials: rows row <= r < end of a view, as qb__phantom_project(); dense[rows * columns] is
 * scratch. */
void qb__polychromatic_apply_two(const qb__polychromatic *polychromatic, const qb_geometry *geometry, size_t view,
                                 size_t row, size_t end, double *line, double *dense, void *scratch);
