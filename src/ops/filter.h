/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>

#include "kernels/filter/filter_spectrum.h"
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
