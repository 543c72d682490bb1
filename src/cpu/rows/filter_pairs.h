/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* One pass of the filter over the spectrum; ops/filter.c explains it. For i < count, front[i] holds the floats of Z[k]
 * and back[-i] those of i conj(Z[M-k]); the two ranges do not overlap. All variants give the same bits. */
typedef void qb__filter_pairs(const float *turn, const float *low, const float *high, size_t count, float *front,
                              float *back);

qb__filter_pairs qb__filter_pairs_scalar, qb__filter_pairs_avx2, qb__filter_pairs_avx512;
/* The fastest variant for these features (cpu/features.h). */
qb__filter_pairs *qb__filter_pairs_choose(uint32_t features);
