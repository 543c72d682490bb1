/* SPDX-License-Identifier: MIT */
#include "project_joseph_rows.h"

#include <threads.h>

static const qb__joseph_variant *const rows[] = {
#if defined(__x86_64__)
    &qb__project_joseph_avx512,
    &qb__project_joseph_avx2,
#endif
    &qb__project_joseph_scalar,
};

enum { ROWS = sizeof rows / sizeof rows[0] };

static qb__joseph_variant table[ROWS];

static void fill_table(void) {
    for (size_t i = 0; i < ROWS; i++) table[i] = *rows[i];
}

const qb__joseph_variant *qb__joseph_variants(size_t *count) {
    static once_flag once = ONCE_FLAG_INIT;
    call_once(&once, fill_table);
    *count = ROWS;
    return table;
}
