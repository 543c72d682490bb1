/* SPDX-License-Identifier: MIT */
#define QB_LINES qb__lines_avx2
#define QB_PAIRS qb__filter_pairs_avx2
#define QB_RING_LOOPS qb__ring_loops_avx2
#define QB_RESAMPLE qb__resample_loop_avx2
#include "cpu/rows/filter_pairs_body.h"
#include "cpu/rows/lines_body.h"
#include "cpu/rows/resample_row_body.h"
#include "cpu/rows/ring_loops_body.h"
