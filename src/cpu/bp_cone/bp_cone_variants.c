/* SPDX-License-Identifier: MIT */
#include "bp_cone_variants.h"

#include <threads.h>

#include "base/memory.h"

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

/* ---- slices that do not fill whole layers ---- */

/* Seven tenths of a layer's time do not depend on the number of wanted slices. */
static double slices_worth(const qb__layers *layers, size_t slices) {
    size_t whole = qb__ceil_div(slices, layers->thickness) * layers->thickness;
    return 0.7 * (double)whole + 0.3 * (double)slices;
}

/* The slices z0 <= z < z1 without their mirror image take 0 to 0.26 longer than one slice of a pair, depending on the
 * processor. */
static double unpaired(const qb__layers *layers, size_t z0, size_t z1) {
    const size_t up = z1 > layers->above ? z1 - qb__larger(z0, layers->above) : 0;
    const size_t down = z0 < layers->below ? qb__smaller(z1, layers->below) - z0 : 0;
    return layers->below == 0 ? 0 : (double)(qb__larger(up, down) - qb__smaller(up, down));
}

double qb__bp_cone_worth(const qb__bp_cone_variant *variant, const qb__bp_cone_problem *problem, size_t z0, size_t z1) {
    if (!variant->layers) return (double)(z1 - z0);
    const qb__layers layers = variant->layers(problem);
    return slices_worth(&layers, z1 - z0) + 0.15 * unpaired(&layers, z0, z1);
}
