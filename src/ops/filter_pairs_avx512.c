/* SPDX-License-Identifier: MIT */
#define QB_PAIRS qb__filter_pairs_avx512
#include "ops/filter_pairs_body.h"
