/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>

/* IEEE 754 binary16, stored as unsigned short. Conversion to float16 rounds to nearest even; overflow becomes
 * infinity. */
void qb__half_to_float(const void *halves, size_t count, float *out);
void qb__float_to_half(const float *values, size_t count, void *out);
