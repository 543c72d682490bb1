/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>

#define QB__LEAST_KEV 10.0
#define QB__MOST_KEV 400.0

typedef struct qb__material qb__material;

/* Find a material by its name of `length` letters; NULL: unknown. */
const qb__material *qb__material_find(const char *name, size_t length);
/* "water, pmma, ..." */
#define QB__MATERIALS "water, pmma, bone, c, al, ti, fe, cu or sn"
/* Linear attenuation in 1/mm, from QB__LEAST_KEV to QB__MOST_KEV. */
double qb__material_mu(const qb__material *material, double kev);
