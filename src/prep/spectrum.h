/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>

#include "quickbeam/recon.h"
#include "quickbeam/status.h"

enum { QB__SPECTRUM_BINS = 400 };

/* A tube's beam through one material, in bins of energy. By Kramers' law (Phil. Mag. 46, 836, 1923) the tube's energy
 * at E is proportional to KV - E; filters of MM attenuate it; a detector sums the energy that reaches it. Photons below
 * QB__LEAST_KEV do not leave the tube. Characteristic lines are not modelled. */
typedef struct qb__spectrum {
    size_t bins;
    double share[QB__SPECTRUM_BINS]; /* part of the signal without material, for each bin; the sum is 1 */
    double mu[QB__SPECTRUM_BINS];    /* attenuation of the material in each bin, 1/mm */
    double reference;                /* 1/mm, attenuation per length: at `at`, or of thin material */
} qb__spectrum;

/* text: MATERIAL,KV[,FILTER:MM...][,at:KEV]. QB_BAD_ARGUMENT, with a message that begins with `option`. */
qb_status qb__spectrum_parse(const char *option, const char *text, qb__spectrum *spectrum);
/* Line integral -ln(signal / signal without material) behind `length` mm. */
double qb__spectrum_line(const qb__spectrum *spectrum, double length);
/* The length for that line integral; line >= 0. */
double qb__spectrum_length(const qb__spectrum *spectrum, double line);

#define QB__LEAST_KEV 10.0
#define QB__MOST_KEV 400.0

typedef struct qb__material qb__material;

/* Find a material by its name of `length` letters; NULL: unknown. */
const qb__material *qb__material_find(const char *name, size_t length);
/* "water, pmma, ..." */
#define QB__MATERIALS "water, pmma, bone, c, al, ti, fe, cu or sn"
/* Linear attenuation in 1/mm, from QB__LEAST_KEV to QB__MOST_KEV. */
double qb__material_mu(const qb__material *material, double kev);

enum { QB__TWO_TEXT = 256 };

/* --hardening two:BASE+DENSE,KV[,FILTER:MM...][,at:KEV][,above:MU]: an object of a light material with parts of a dense
 * one, such as water and bone (P. M. Joseph and C. Ruth, Med. Phys. 24 (1997) 945). A ray with d mm in the dense
 * material and the line integral p has w mm in the other one, where -ln(sum of share(E) exp(-mu(E) w - mu'(E) d)) =
 * p. */
typedef struct qb__two {
    double base, dense; /* 1/mm, attenuation of a mm of each */
    double above;       /* 1/mm, voxels above it are dense */
    double longest;     /* mm of the dense material; longer paths are limited to it */
    float *table;       /* [LENGTHS + 1][STEPS + 1] of two_materials.c; NULL: not made */
} qb__two;

/* A tube's beam through both materials, with the same bins of energy. */
typedef struct qb__two_beam {
    qb__spectrum base, dense;
} qb__two_beam;

/* text: BASE+DENSE,KV[,FILTER:MM...][,at:KEV], and if `above` is not NULL [,above:MU], NAN without. QB_BAD_ARGUMENT. */
qb_status qb__two_beam_parse(const char *option, const char *text, qb__two_beam *beam, double *above);
/* -ln of the transmission of w mm of the light and d mm of the dense material; *slope: its derivative by w, may be
 * NULL. */
double qb__two_beam_line(const qb__two_beam *beam, double w, double d, double *slope);

bool qb__two_wanted(const qb_prep_options *options);
/* The same beam through the light material alone, as "spectrum:BASE,KV...". QB_BAD_ARGUMENT for text other than
 * "two:...". */
qb_status qb__two_base(const char *text, char base[QB__TWO_TEXT]);
/* Everything except the table. QB_BAD_ARGUMENT. */
qb_status qb__two_parse(const char *text, qb__two *two, qb__two_beam *beam);
qb_status qb__two_tabulate(const qb__two_beam *beam, qb__two *two);
void qb__two_clear(qb__two *two);
/* The line integral of the light material alone that --hardening spectrum: converts to the monochromatic attenuation of
 * the ray at the energy of `base` and `dense`. p: as measured; d: mm of the dense material, above 0. */
float qb__two_line(const qb__two *two, float p, float d);
