/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>

/* Logarithm of the factor from one frame to the next: the median over all pixels, its error by noise, and the spread of
 * most pixels. NaN: unknown. */
typedef struct qb__frame_step {
    float size, error, spread;
} qb__frame_step;

/* From samples at the same pixels. Only numbers farther from `zero` than `part` of the largest are compared.
 * scratch[count]. */
void qb__frame_step_of(const float *before, const float *after, size_t count, float zero, float part, float *scratch,
                       qb__frame_step *step);
