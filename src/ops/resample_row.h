/* SPDX-License-Identifier: MIT */
#ifndef QB_OPS_RESAMPLE_ROW_H
#define QB_OPS_RESAMPLE_ROW_H

#include <stdint.h>

#include "ops/resample.h"

enum { QB__RESAMPLE_TAPS = 8, QB__RESAMPLE_PHASES = 512 };

/* qb__resample_row with a table of weights for places 0, 1/512, ... behind the fourth tap. The bits
 * are the same from every variant. */
typedef void qb__resample_loop(const float (*weight)[QB__RESAMPLE_TAPS],
                               const qb__resample_image *image, const double *column,
                               const double *row, size_t count, float outside, float *out);

qb__resample_loop qb__resample_loop_scalar, qb__resample_loop_avx2;
/* The fastest for these features (cpu/features.h). */
qb__resample_loop *qb__resample_loop_choose(uint32_t features);

#endif
