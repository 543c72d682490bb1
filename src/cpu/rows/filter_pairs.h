/* SPDX-License-Identifier: MIT */
#ifndef QB_CPU_ROWS_FILTER_PAIRS_H
#define QB_CPU_ROWS_FILTER_PAIRS_H

#include <stddef.h>
#include <stdint.h>

/* The filter's pass over the spectrum; filter.c says what it computes. For i < count, front[i] and
 * back[-i] are the floats of Z[k] and of i conj(Z[M-k]); the two ends do not meet. The bits are the
 * same from every variant. */
typedef void qb__filter_pairs(const float *turn, const float *low, const float *high, size_t count, float *front,
                              float *back);

qb__filter_pairs qb__filter_pairs_scalar, qb__filter_pairs_avx2, qb__filter_pairs_avx512;
/* The fastest for these features (cpu/features.h). */
qb__filter_pairs *qb__filter_pairs_choose(uint32_t features);

#endif
