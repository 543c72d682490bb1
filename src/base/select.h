/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>

/* The value at place `at` of the sorted values; none may be NaN. Afterwards no value before that place is larger, and
 * none after it is smaller. Takes a fraction of the time of sorting. */
float qb__float_at(float *values, size_t count, size_t at);

/* Median of `count` >= 1 values; the mean of the two middle ones for an even count. Changes the order of the values. */
double qb__float_median(float *values, size_t count);
