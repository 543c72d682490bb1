/* SPDX-License-Identifier: MIT */
/* Pixels as they are: the layout of the bp_cone_matrix variants of class high. */
#include "bp_cone_matrix.h"

static void pack_float(const qb__bp_cone_problem *p, size_t view, qb__bp_cone_window window,
                       const float *image, size_t row_stride, void *memory) {
    (void)view;
    char *block = memory;
    const size_t stride = cell_stride(p), rows = window.r1 - window.r0;
    const float header[HEADER / sizeof(float)] = {1.0f};
    memcpy(block, header, HEADER);
    pack_frame(block, p, GUARD, rows, cell_rows(window));
    for (size_t i = 0; i < rows; i++)
        memcpy(block + HEADER + 4 * ((GUARD + i) * stride + GUARD), image + i * row_stride,
               p->columns * sizeof(float));
}
