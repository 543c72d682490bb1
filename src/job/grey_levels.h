/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "quickbeam/io.h"

/* --window: the values of black and white in the pictures of a job. */
typedef struct qb__grey_levels {
    double low, high;
    bool asked; /* given by the user; otherwise chosen from the image */
} qb__grey_levels;

/* Parse the option; QB_BAD_ARGUMENT if it is neither LO,HI nor auto. NULL = auto. */
qb_status qb__grey_levels_parse(const char *text, qb__grey_levels *window);
/* The window as given, else the 0.5 and 99.5 percentiles of the finite values; always low < high. */
qb_status qb__grey_levels_choose(const char *text, const float *values, size_t count, qb__grey_levels *window);
/* {"window": [low, high], "window_from": "auto" or "--window"} */
void qb__grey_levels_report(const qb__grey_levels *window, cJSON *json);
/* "black 0.1, white 2 per mm", with the letters of pictures (io/picture/label.h). */
void qb__grey_levels_text(const qb__grey_levels *window, const char *units, char *text, size_t size);
/* Grey level from 0 (black) to 1 (white); NaN is black. */
float qb__grey_levels_shade(const qb__grey_levels *window, float value);

/* Histogram of values to find the range of integers. A bin holds the sign, the exponent and the first 11 bits of a
 * value, so that it needs no range itself, is accurate to 1 in 2000, and does not depend on how the values were divided
 * among slabs and ranks. */
enum { QB__VALUE_BINS_DROPPED = 12, QB__VALUE_BINS = 1 << (32 - QB__VALUE_BINS_DROPPED) };

/* NaN and infinite values do not count. */
void qb__value_bins_add(uint64_t *bins, const float *values, size_t count);
/* The range that clips 1 in 10,000 values at either end; low < high. */
void qb__value_bins_range(const uint64_t *bins, double *low, double *high);
