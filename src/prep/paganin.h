/* SPDX-License-Identifier: MIT */
#pragma once

#include "quickbeam/recon.h"
#include "quickbeam/scan.h"

/* The low-pass filter of single-distance phase retrieval (Paganin et al., J. Microsc. 206 (2002) 33), in the object's
 * scale:
 *   1 / (1 + (L f)^2),   L^2 = pi lambda D delta/beta,   f in cycles
 * Its kernel falls as exp(-2 pi r / L). Lengths are in mm, the energy in keV; 0: not known. */
typedef struct qb__paganin {
    double length;            /* L; in pixels if the scan has no pixel size */
    double columns, rows;     /* L in pixels, along a row and along a column */
    double delta_beta, alpha; /* alpha = 1 / (4 pi^2 delta/beta), the parameter of TomoPy */
    double energy, distance;  /* distance: D; for a cone beam the effective distance */
    double magnification;
    /* (L f)^2 is replaced by the discrete Laplacian of the pixels (Paganin et al., J. Microsc. 280 (2020) 30) */
    bool generalised;
    bool pixels; /* the pixel size is not known */
    double unsharp,
        sigma[2]; /* the filter times 1 + unsharp (1 - G), G a Gaussian of sigma pixels along a row and a column */
    double scatter, spread[2]; /* parameters of prep/scatter.h; scatter 0: none */
} qb__paganin;

extern const double qb__paganin_hc; /* keV mm: a photon's energy times its wavelength */

/* *wanted: whether the options ask for the filter. QB_BAD_ARGUMENT if they only give an energy or a distance. */
qb_status qb__paganin_wanted(const qb_prep_options *options, bool *wanted);
/* Make the filter for a scan. geometry NULL: parallel beams, or the distances that the scan states. Values that make no
 * sense are refused. */
qb_status qb__paganin_of(const qb_scan_info *info, const qb_geometry *geometry, const qb_prep_options *options,
                         qb__paganin *filter);
/* Describe the filter in one sentence, with all numbers and the formula. */
void qb__paganin_text(const qb__paganin *filter, char *text, size_t size);
