/* SPDX-License-Identifier: MIT */
#ifndef QB_BASE_CLOCK_H
#define QB_BASE_CLOCK_H

#include <stddef.h>

double qb__now(void); /* monotonic seconds */
/* Middle of count values, which are sorted on the way. */
double qb__median(double *values, size_t count);

#endif
