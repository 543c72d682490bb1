/* SPDX-License-Identifier: MIT */
#include "icd_rows.h"

#include <math.h>
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

/* Two voxels side by side are as wide as their movement twice. */
size_t qb__icd_block_width(const qb__footprints *footprints) {
    float half = 0;
    if (!footprints->half || footprints->wx) return 2 * footprints->taps - 1;
    for (size_t v = 0; v < footprints->views; v++) half = fmaxf(half, footprints->half[v]);
    const size_t width = (size_t)ceil(4 * (double)half + 1 - 1e-6);
    return width < footprints->taps ? footprints->taps : width;
}

/* Two blocks of four voxels: the current one, and the previous one, whose steps are not yet applied to the error; and
 * the four columns before they are put together. */
size_t qb__icd_scratch_bytes(const qb__footprints *footprints) {
    const size_t entries = 4 * (2 * qb__icd_block_width(footprints) + footprints->taps);
    return footprints->stride * (entries * sizeof(float) + 6 * sizeof(int32_t));
}

size_t qb__icd_band_scratch_bytes(const qb__icd_bands *bands) {
    return 2 * bands->footprints->stride * (sizeof(int32_t) + bands->taps * sizeof(float));
}
