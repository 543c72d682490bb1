/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>

#include "kernels/filter/filter_device_parts.h"
#include "quickbeam/recon.h"

/* The ramp filter and its windows, applied to detector rows by FFT. Thread-safe after creation. */
typedef struct qb__filter qb__filter;

/* spec: ramp|shepp-logan|cosine|hann|hamming|blackman|parzen|butterworth|none[:CUTOFF], with the cut-off as a fraction
 * of Nyquist; or a text file of window values, evenly spaced from 0 to Nyquist, which multiply the ramp. The ramp is
 * the transform of the band-limited space-domain kernel (1/4 at 0, -1/(pi n)^2 at odd n) divided by the pitch, padded
 * to at least twice the width, so that constants are right. pitch: distance of columns in mm (or 1). */
qb_status qb__filter_create(const char *spec, qb_pad pad, size_t columns, double pitch, qb__filter **filter);
void qb__filter_destroy(qb__filter *filter);
size_t qb__filter_length(const qb__filter *filter);  /* the padded length */
size_t qb__filter_scratch(const qb__filter *filter); /* bytes, 64-byte aligned, one buffer per thread */
/* The data for the same filter on a device; valid as long as the filter. */
void qb__filter_describe(const qb__filter *filter, qb__filter_spectrum *spectrum);

/* rows[r * stride + column], r < count, filtered in place and multiplied by `weight`. The result of a row does not
 * depend on count or on other rows. */
void qb__filter_rows(const qb__filter *filter, float *rows, size_t count, size_t stride, float weight, void *scratch);

/* The transpose of filtering a row, in place. QB_UNSUPPORTED for a pad that is not linear. */
qb_status qb__filter_check_transpose(qb_pad pad);
void qb__filter_row_transposed(const qb__filter *filter, float *row, float weight, void *scratch);

/* Distance by which a row of `columns` is continued on either side before zeros follow; edge and mirror never end. */
size_t qb__extend_reach(qb_pad pad, size_t columns);

/* Write row[-left .. -1] and row[columns .. columns + right - 1]:
 *   zero     zeros
 *   edge     the last value
 *   mirror   the row's mirror image
 *   taper    the row rotated about its end, 2 row[end] - mirror but never below 0, fading as cos^2
 *            over half the width (after Ohnesorge et al., Med. Phys. 27 (2000) 39)
 *   ellipse  the projection of an ellipse: the root of a parabola in the squared row with the row's
 *            own curvature, and with its level and slope at the end; it fades out at the end of its
 *            range, one width. Needs no attenuation, unlike the cylinder of water of Hsieh et al.,
 *            Med. Phys. 31 (2004) 2385. */
void qb__extend(qb_pad pad, float *row, size_t columns, size_t left, size_t right);
/* The transpose of zero, edge and mirror: adds the values outside the row to the values that they continue. */
void qb__extend_transposed(qb_pad pad, float *row, size_t columns, size_t left, size_t right);
