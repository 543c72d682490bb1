/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>

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
