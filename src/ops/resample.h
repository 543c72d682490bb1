/* SPDX-License-Identifier: MIT */
#ifndef QB_OPS_RESAMPLE_H
#define QB_OPS_RESAMPLE_H

#include <stddef.h>

#include "cpu/rows/resample_row.h"
#include "quickbeam/status.h"

/* Reading an image between its pixels: 8 x 8 taps of a sinc under a Kaiser window (beta = 6), whose
 * response differs from 1 by less than 1.4e-3 up to a quarter of a cycle a pixel, by 2.4 % at 0.3
 * (linear interpolation: by 29 and 41 %). Constants come back exactly but for rounding. */
typedef struct qb__resampler qb__resampler;

qb_status qb__resampler_create(qb__resampler **resampler);
void qb__resampler_destroy(qb__resampler *resampler); /* NULL-safe */
/* The resampler's weights, for devices: [QB__RESAMPLE_PHASES + 2][QB__RESAMPLE_TAPS], for places 0, 1/512, ... behind the fourth tap. */
const float *qb__resampler_taps(const qb__resampler *resampler);

void qb__resample_extend(float *row, size_t columns);

/* out[i] = the image at (column[i], row[i]), beyond its rim what the rim's pixels say; `outside`
 * where that is further than half a pixel beyond, or NAN. `outside` may be NAN. The rows within
 * QB__RESAMPLE_MARGIN of all places inside must be held; others are not read. */
void qb__resample_row(const qb__resampler *resampler, const qb__resample_image *image, const double *column,
                      const double *row, size_t count, float outside, float *out);

/* Continue what was measured to where NAN stands: the nearest value at both ends, a straight line
 * across gaps; zeros where nothing was measured. */
void qb__resample_fill(float *row, size_t count);

#endif
