/* SPDX-License-Identifier: MIT */
#pragma once

#include "io/scan/drift.h"
#include "io/scan/field_mean.h"
#include "io/scan/field_times.h"

/* Mean [row][column] of the frames `taken`. *lowest becomes the smallest of its own value and all values. */
qb_status qb__frames_mean(const qb__frames *taken, bool lines, qb_field_average how, const qb_env *env, float *mean,
                          qb__field_found *found, float *lowest);
/* Median of the frames instead of the mean that `found` describes. */
qb_status qb__frames_median(const qb__frames *taken, bool lines, const qb_env *env, float *median,
                            qb__field_found *found);
/* Makes the drift according to --flat-fields, without the weights of the views; *drift must be NULL, and stays NULL if
 * the mean alone is used. scan->flat and scan->dark must exist. `flat` is scan->flat: pixels that are dead in one series
 * become NaN. */
qb_status qb__flat_series_load(qb_scan *scan, const qb__flats *flats, const qb_scan_options *options, const qb_env *env,
                               float *flat, qb__drift **drift);
