/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>

#include "cpu/rows/resample_row.h"
#include "quickbeam/status.h"

/* Interpolation of an image: 8 x 8 taps of a sinc with a Kaiser window (beta = 6), whose response differs from 1 by
 * less than 1.4e-3 up to a quarter of a cycle per pixel, and by 2.4 % at 0.3 (linear interpolation: by 29 and 41 %).
 * Constants are exact except for rounding. */
typedef struct qb__resampler qb__resampler;

qb_status qb__resampler_create(qb__resampler **resampler);
void qb__resampler_destroy(qb__resampler *resampler); /* NULL-safe */
/* The resampler's weights, for devices: [QB__RESAMPLE_PHASES + 2][QB__RESAMPLE_TAPS], for positions 0, 1/512, ... after
 * the fourth tap. */
const float *qb__resampler_taps(const qb__resampler *resampler);

void qb__resample_extend(float *row, size_t columns);

/* out[i] = the image at (column[i], row[i]). Outside, the values at the edge are continued for half a pixel; farther
 * out, or at NAN, out[i] = `outside`, which may be NAN. All rows within QB__RESAMPLE_MARGIN of the inner positions must
 * be in memory; others are not read. */
void qb__resample_row(const qb__resampler *resampler, const qb__resample_image *image, const double *column,
                      const double *row, size_t count, float outside, float *out);

/* Replace NAN: by the nearest value at both ends, by linear interpolation in gaps, by zeros if nothing was measured. */
void qb__resample_fill(float *row, size_t count);
