/* SPDX-License-Identifier: MIT */
#define QB_LINES qb__lines_scalar
#define QB_PAIRS qb__filter_pairs_scalar
#define QB_RING_LOOPS qb__ring_loops_scalar
#define QB_RESAMPLE qb__resample_loop_scalar
#include "cpu/rows/filter_pairs_body.h"
#include "cpu/rows/lines_body.h"
#include "cpu/rows/resample_row_body.h"
#include "cpu/rows/ring_loops_body.h"

#include "cpu/features.h"

const qb__lines *qb__lines_choose(uint32_t features) {
#if defined(__x86_64__)
    if (features & QB__CPU_AVX512) return &qb__lines_avx512;
    if (features & QB__CPU_AVX2) return &qb__lines_avx2;
#endif
    (void)features;
    return &qb__lines_scalar;
}

const qb__ring_loops *qb__ring_loops_here(void) {
#if defined(__x86_64__)
    const uint32_t features = qb__cpu_features();
    if (features & QB__CPU_AVX512) return &qb__ring_loops_avx512;
    if (features & QB__CPU_AVX2) return &qb__ring_loops_avx2;
#endif
    return &qb__ring_loops_scalar;
}

qb__filter_pairs *qb__filter_pairs_choose(uint32_t features) {
#if defined(__x86_64__)
    if (features & QB__CPU_AVX512) return qb__filter_pairs_avx512;
    if (features & QB__CPU_AVX2) return qb__filter_pairs_avx2;
#endif
    (void)features;
    return qb__filter_pairs_scalar;
}

/* Eight taps fill one vector of AVX2; longer vectors bring no gain. */
qb__resample_loop *qb__resample_loop_choose(uint32_t features) {
#if defined(__x86_64__)
    if (features & QB__CPU_AVX2) return qb__resample_loop_avx2;
#endif
    (void)features;
    return qb__resample_loop_scalar;
}
