/* SPDX-License-Identifier: MIT */
#define QB_LINES qb__lines_avx2
#define QB_PAIRS qb__filter_pairs_avx2
#define QB_SORT_LANES qb__sort_lanes_avx2
#define QB_RESAMPLE qb__resample_loop_avx2
#include "cpu/rows/filter_pairs_body.h"
#include "cpu/rows/lines_body.h"
#include "cpu/rows/resample_row_body.h"
#include "cpu/rows/sort_lanes_body.h"
