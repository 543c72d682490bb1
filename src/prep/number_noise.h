/* SPDX-License-Identifier: MIT */
#pragma once

#include "quickbeam/scan.h"

/* The noise of a scan's numbers: a number n has the variance base + slope * n. For photon counts base is 0 and slope 1;
 * a detector with g counts per photon has the slope g; readout noise adds a base. */
typedef struct qb__number_noise {
    double base, slope;
} qb__number_noise;

/* [row][column] of the detector: dark, 1 / (flat - dark), and flat - dark. NULL: 0, 1 and 1. */
typedef struct qb__number_fields {
    const float *dark, *gain, *beam;
} qb__number_fields;

/* Measures the noise in a few rows of a few views, which are the same for every job of the scan. Structure as fine as a
 * pixel counts as noise. */
qb_status qb__number_noise_of(qb_scan *scan, const qb__number_fields *fields, qb__number_noise *noise);
