/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Histogram of values to find the range of integers. A bin holds the sign, the exponent and the first 11 bits of a
 * value, so that it needs no range itself, is accurate to 1 in 2000, and does not depend on how the values were divided
 * among slabs and ranks. */
enum { QB__VALUE_BINS_DROPPED = 12, QB__VALUE_BINS = 1 << (32 - QB__VALUE_BINS_DROPPED) };

/* NaN and infinite values do not count. */
void qb__value_bins_add(uint64_t *bins, const float *values, size_t count);
/* The range that clips 1 in 10,000 values at either end; low < high. */
void qb__value_bins_range(const uint64_t *bins, double *low, double *high);
