/* SPDX-License-Identifier: MIT */
#ifndef QB_PREP_LOG_H
#define QB_PREP_LOG_H

#include <stddef.h>

/* values[i] = -ln(values[i]) for positive normal numbers, relative error about 1e-7 (absolute near 1);
 * NaN stays NaN, infinity becomes NaN. No libm, no FMA: the same bits on every CPU. */
void qb__minus_log(float *values, size_t count);

#endif
