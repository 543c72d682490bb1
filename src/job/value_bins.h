/* SPDX-License-Identifier: MIT */
#ifndef QB_JOB_VALUE_BINS_H
#define QB_JOB_VALUE_BINS_H

#include <stddef.h>
#include <stdint.h>

/* Values counted to find the range of integers. There is a bin for the sign, the exponent and the first 11 bits of a value, so that
 * counting needs no range itself, is right to 1 in 2000, and does not depend on how the values were cut or shared. */
enum { QB__VALUE_BINS_DROPPED = 12, QB__VALUE_BINS = 1 << (32 - QB__VALUE_BINS_DROPPED) };

/* Values that are no numbers do not count. */
void qb__value_bins_add(uint64_t *bins, const float *values, size_t count);
/* 1 in 10,000 values at either end may be clipped; low < high. */
void qb__value_bins_range(const uint64_t *bins, double *low, double *high);

#endif
