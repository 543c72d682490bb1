/* SPDX-License-Identifier: MIT */
#define QB_PAIRS qb__filter_pairs_avx2
#include "cpu/rows/filter_pairs_body.h"
