/* SPDX-License-Identifier: MIT */
#pragma once

#include "bp_parallel.h"

/* The rows of the variant table, one function per source file. Rows that a CPU cannot run are listed too. */
extern const qb__bp_parallel_variant qb__bp_parallel_linear_scalar, qb__bp_parallel_nearest_scalar;
extern const qb__bp_parallel_variant qb__bp_parallel_linear_avx2, qb__bp_parallel_nearest_avx2;
extern const qb__bp_parallel_variant qb__bp_parallel_linear_avx2_slice, qb__bp_parallel_linear_avx2_one;
extern const qb__bp_parallel_variant qb__bp_parallel_linear_avx512, qb__bp_parallel_nearest_avx512;
extern const qb__bp_parallel_variant qb__bp_parallel_linear_avx512_slice, qb__bp_parallel_linear_avx512_one;
extern const qb__bp_parallel_variant qb__bp_parallel_linear_avx512fp16;
