/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>

#include "quickbeam/status.h"

/* Sharpness and noise of a slice within the ellipse that touches its sides. NaN and infinite values do not count. */
typedef struct qb__sharpness {
    /* rms of the gradient, by central differences over 2 pixels, divided by the standard deviation; 1/pixel */
    double edges;
    /* 1.4826 * median of |a - b - c + d| / 2 of 2 x 2 neighbours: the standard deviation of white noise */
    double noise;
    /* |sum of values| / sum of |values|, at most 1: a wrong axis gives values below zero (Donath et al., J. Opt. Soc.
     * Am. A 23, 1048, 2006). */
    double positivity;
    double mean;
} qb__sharpness;

/* For an image [ny][nx]; `zero` is the value of no attenuation. All results are 0 for fewer than 3 x 3 pixels or a
 * constant image. */
qb_status qb__sharpness_of(const float *image, size_t nx, size_t ny, double zero, qb__sharpness *out);
