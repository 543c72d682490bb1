/* SPDX-License-Identifier: MIT */
#define QB_RESAMPLE qb__resample_loop_avx2
#include "cpu/rows/resample_row_body.h"
