/* SPDX-License-Identifier: MIT */
#ifndef QB_CPU_ROWS_SORT_LANES_H
#define QB_CPU_ROWS_SORT_LANES_H

#include <stddef.h>
#include <stdint.h>

enum { QB__SORT_LANES = 16 };

/* Sorts the `count` values of each lane in ascending order, in place; -0 comes before 0, and NaN is not allowed. All
 * lanes pass through Batcher's sorting network (AFIPS 32 (1968) 307) together, so no branch depends on a value. */
typedef struct qb__sort_lanes {
    void (*floats)(float (*values)[QB__SORT_LANES], size_t count);
    void (*doubles)(double (*values)[QB__SORT_LANES], size_t count);
} qb__sort_lanes;

extern const qb__sort_lanes qb__sort_lanes_scalar, qb__sort_lanes_avx2, qb__sort_lanes_avx512;
/* The fastest set for these features (cpu/features.h). */
const qb__sort_lanes *qb__sort_lanes_choose(uint32_t features);

#endif
