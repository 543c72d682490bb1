/* SPDX-License-Identifier: MIT */
/* Pixels as floats: the layout of the bp_cone_matrix variants of accuracy class high. */
#include "bp_cone_matrix.h"

INLINE void fill_floats(char *cells, const float *image, size_t row_stride, int64_t r, int64_t rows, size_t columns,
                        float scale) {
    (void)rows, (void)scale;
    memcpy(cells, image + (size_t)r * row_stride, columns * sizeof *image);
}

static void pack_float_part(const qb__bp_cone_problem *p, size_t view, qb__bp_cone_window window, const float *image,
                            size_t row_stride, void *block, size_t part, size_t parts) {
    (void)view;
    const float header[HEADER / sizeof(float)] = {1.0f};
    pack_rows(p, window, header, image, row_stride, block, part, parts, 0, fill_floats, 1);
}

static void pack_float(const qb__bp_cone_problem *p, size_t view, qb__bp_cone_window window, const float *image,
                       size_t row_stride, void *block) {
    pack_float_part(p, view, window, image, row_stride, block, 0, 1);
}

#define PACK_FLOAT .pack = pack_float, .pack_part = pack_float_part
