/* SPDX-License-Identifier: MIT */
#ifndef QB_IO_FRAME_STEPS_H
#define QB_IO_FRAME_STEPS_H

#include "io/scan/frame_look.h"

/* From frame `before` to frame `after`, of so many samples at the same pixels: the logarithm of the factor between them, into
 * after's step fields. Only numbers are compared that are farther from `zero` than `part` of the largest. scratch[count]. */
void qb__frame_step_of(const float *before, const float *after, size_t count, float zero, float part, float *scratch,
                       qb__frame *frame);

/* level[i]: the logarithm by which frame i is brighter than most frames, by jumps at which all pixels change alike; usual
 * changes from frame to frame are none. How many frames have another level than most. skip[i]: the step before frame i says nothing.
 * scratch[count]. */
size_t qb__frame_levels(const qb__frame *frames, const bool *skip, size_t count, double *level, double *scratch);

#endif
