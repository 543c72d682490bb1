/* SPDX-License-Identifier: MIT */
#include "bp_parallel_layout.h"

#include <pthread.h>

/* The table of device variants, collected from the families once. */
enum { MOST = 64 };
static const qb__bp_parallel_device_variant *all[MOST];
static size_t count_all;

static void gather(void) {
    const qb__bp_parallel_rows *const families[] = {
        &qb__bp_parallel_tensor_rows, &qb__bp_parallel_alu_rows,    &qb__bp_parallel_texture_rows,
        &qb__bp_parallel_hybrid_rows, &qb__bp_parallel_direct_rows,
    };
    for (size_t f = 0; f < sizeof families / sizeof *families; f++)
        for (size_t i = 0; i < families[f]->count && count_all < MOST; i++) all[count_all++] = &families[f]->rows[i];
}

const qb__bp_parallel_device_variant *const *qb__bp_parallel_device_variants(size_t *count) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, gather);
    *count = count_all;
    return all;
}
