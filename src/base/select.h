/* SPDX-License-Identifier: MIT */
#ifndef QB_BASE_SELECT_H
#define QB_BASE_SELECT_H

#include <stddef.h>

/* The value that sorting would put at place `at` of `count`; none may be NaN. Afterwards no value before that place is larger, and
 * none behind it is smaller. Takes a fraction of the time of sorting. */
float qb__float_at(float *values, size_t count, size_t at);

/* Middle of `count` values, at least one; of two middle ones their mean. Afterwards they are in another order. */
double qb__float_median(float *values, size_t count);

#endif
