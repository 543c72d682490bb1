/* SPDX-License-Identifier: MIT */
#ifndef QB_IO_FRAME_STEPS_H
#define QB_IO_FRAME_STEPS_H

#include <stddef.h>

/* Logarithm of the factor from one frame to the next: the middle of all pixels, how far noise may move that, and the range of
 * most of them. NaN: it is not known. */
typedef struct qb__frame_step {
    float size, error, spread;
} qb__frame_step;

/* Of so many samples at the same pixels. Only numbers are compared that are farther from `zero` than `part` of the largest.
 * scratch[count]. */
void qb__frame_step_of(const float *before, const float *after, size_t count, float zero, float part, float *scratch,
                       qb__frame_step *step);

#endif
