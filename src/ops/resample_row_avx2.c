/* SPDX-License-Identifier: MIT */
#define QB_RESAMPLE qb__resample_loop_avx2
#include "ops/resample_row_body.h"
