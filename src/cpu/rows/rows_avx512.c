/* SPDX-License-Identifier: MIT */
#define QB_LINES qb__lines_avx512
#define QB_PAIRS qb__filter_pairs_avx512
#define QB_RING_LOOPS qb__ring_loops_avx512
#include "cpu/rows/filter_pairs_body.h"
#include "cpu/rows/lines_body.h"
#include "cpu/rows/ring_loops_body.h"
