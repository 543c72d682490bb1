/* SPDX-License-Identifier: MIT */
#include "icd_rows.h"

#include <threads.h>

#include "base/memory.h"

static const qb__icd_variant *const rows[] = {
#if defined(__x86_64__)
    &qb__icd_avx512,
    &qb__icd_avx2,
#endif
    &qb__icd_scalar,
};

enum { ROWS = sizeof rows / sizeof rows[0] };

static qb__icd_variant table[ROWS];

static void fill_table(void) {
    for (size_t i = 0; i < ROWS; i++) table[i] = *rows[i];
}

const qb__icd_variant *qb__icd_variants(size_t *count) {
    static once_flag once = ONCE_FLAG_INIT;
    call_once(&once, fill_table);
    *count = ROWS;
    return table;
}

/* Two columns: that of the current voxel, and of the previous one, whose step is not yet applied to the error. */
size_t qb__icd_scratch_bytes(const qb__footprints *footprints) {
    return 2 * footprints->stride * (sizeof(int32_t) + footprints->taps * sizeof(float));
}

size_t qb__icd_band_scratch_bytes(const qb__icd_bands *bands) {
    return 2 * bands->footprints->stride * (sizeof(int32_t) + bands->taps * sizeof(float));
}
