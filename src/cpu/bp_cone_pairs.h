/* SPDX-License-Identifier: MIT */
/* Cell (u, v) holds pixels (u, v) and (u, v + 1) as 16-bit integers, full scale the view's largest:
 * two neighbouring cells, one 64-bit read, are all four taps. The including file supplies
 * pairs_fill(), which makes one row of cells; a row of pixels that is missing reads as zero. It may
 * set the sum of the weights, PAIR_WEIGHTS. */
#include "bp_cone_matrix.h"

#ifndef PAIR_WEIGHTS
#define PAIR_WEIGHTS 16383
#endif

enum { FULL = 32767, WEIGHTS = PAIR_WEIGHTS };

static void pack_pairs(const qb__bp_cone_problem *p, size_t view, qb__bp_cone_window window,
                       const float *image, size_t row_stride, void *memory) {
    char *block = memory;
    const size_t stride = cell_stride(p), rows = window.r1 - window.r0, columns = p->columns;
    const float largest = p->largest[view];
    const float header[HEADER / sizeof(float)] = {largest / ((float)FULL * (float)WEIGHTS)};
    const float scale = largest > 0 ? (float)FULL / largest : 0;
    memcpy(block, header, HEADER);
    if (rows == 0) {
        pack_frame(block, p, 0, 0, cell_rows(window));
        return;
    }
    /* The row of cells above the first row of pixels holds that row as its lower half. */
    pack_frame(block, p, GUARD - 1, rows + 1, cell_rows(window));
    for (size_t i = 0; i < rows + 1; i++) {
        char *cells = block + HEADER + 4 * ((GUARD - 1 + i) * stride + GUARD);
        const float *upper = i > 0 ? image + (i - 1) * row_stride : NULL;
        const float *lower = i < rows ? image + i * row_stride : NULL;
        pairs_fill((uint32_t *)cells, upper, lower, columns, scale);
    }
}
