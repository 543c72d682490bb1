/* SPDX-License-Identifier: MIT */
#pragma once

#include "quickbeam/array.h"

/* Line integrals of frames that arrive one by one, with the same bits as for a whole scan. Only qb uses these
 * functions. */

/* 1 / (flat - dark), 0 where a pixel is dead; gain may be flat. */
QB_API void qb_tool_frame_gain(const float *flat, const float *dark, size_t count, float *gain);
/* out = -ln of (values - dark) gain; NaN where that was not measured. dark and gain may be NULL (0 and 1). */
QB_API void qb_tool_frame_lines(const void *values, qb_dtype dtype, size_t count, const float *dark, const float *gain,
                                float *out);
