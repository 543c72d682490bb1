/* SPDX-License-Identifier: MIT */
#include "bp_parallel_rows.h"

#include <threads.h>

/* Best first within an interpolation, for many slices; variants for a single slice are separate. */
static const qb__bp_parallel_variant *const rows[] = {
#if defined(__x86_64__)
    &qb__bp_parallel_linear_avx512fp16, &qb__bp_parallel_linear_avx512,     &qb__bp_parallel_linear_avx512_slice,
    &qb__bp_parallel_linear_avx2,       &qb__bp_parallel_linear_avx2_slice,
#endif
    &qb__bp_parallel_linear_scalar,
#if defined(__x86_64__)
    &qb__bp_parallel_nearest_avx512,    &qb__bp_parallel_nearest_avx2,
#endif
    &qb__bp_parallel_nearest_scalar,
};

enum { ROWS = sizeof rows / sizeof rows[0] };

static qb__bp_parallel_variant table[ROWS];

static void fill_table(void) {
    for (size_t i = 0; i < ROWS; i++) table[i] = *rows[i];
}

const qb__bp_parallel_variant *qb__bp_parallel_variants(size_t *count) {
    static once_flag once = ONCE_FLAG_INIT;
    call_once(&once, fill_table);
    *count = ROWS;
    return table;
}
