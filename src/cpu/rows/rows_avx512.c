/* SPDX-License-Identifier: MIT */
#define QB_LINES qb__lines_avx512
#define QB_PAIRS qb__filter_pairs_avx512
#define QB_SORT_LANES qb__sort_lanes_avx512
#include "cpu/rows/filter_pairs_body.h"
#include "cpu/rows/lines_body.h"
#include "cpu/rows/sort_lanes_body.h"
