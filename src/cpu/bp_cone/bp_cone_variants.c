/* SPDX-License-Identifier: MIT */
#include "bp_cone_variants.h"

#include <threads.h>

static const qb__bp_cone_variant *const rows[] = {
#if defined(__x86_64__)
    &qb__bp_cone_circular_avx512,   &qb__bp_cone_circular_avx2, &qb__bp_cone_matrix_avx512vnni,
    &qb__bp_cone_matrix_avx512,     &qb__bp_cone_matrix_avx2,   &qb__bp_cone_matrix_avx512_float,
    &qb__bp_cone_matrix_avx2_float,
#endif
    &qb__bp_cone_circular_scalar,   &qb__bp_cone_matrix_scalar,
};

enum { ROWS = sizeof rows / sizeof rows[0] };

static qb__bp_cone_variant table[ROWS];

static void fill_table(void) {
    for (size_t i = 0; i < ROWS; i++) table[i] = *rows[i];
}

const qb__bp_cone_variant *qb__bp_cone_variants(size_t *count) {
    static once_flag once = ONCE_FLAG_INIT;
    call_once(&once, fill_table);
    *count = ROWS;
    return table;
}
