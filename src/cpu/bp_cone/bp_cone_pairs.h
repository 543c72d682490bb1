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

INLINE void fill_pairs(char *cells, const float *image, size_t row_stride, int64_t r, int64_t rows, size_t columns,
                       float scale) {
    const float *upper = r >= 0 ? image + (size_t)r * row_stride : NULL;
    const float *lower = r + 1 < rows ? image + (size_t)(r + 1) * row_stride : NULL;
    pairs_fill((uint32_t *)cells, upper, lower, columns, scale);
}

/* The row of cells above the first row of pixels holds that row as its lower half. */
static void pack_pairs_part(const qb__bp_cone_problem *p, size_t view, qb__bp_cone_window window, const float *image,
                            size_t row_stride, void *block, size_t part, size_t parts) {
    const float largest = p->largest[view];
    const float header[HEADER / sizeof(float)] = {largest / ((float)FULL * (float)WEIGHTS)};
    const float scale = largest > 0 ? (float)FULL / largest : 0;
    pack_rows(p, window, header, image, row_stride, block, part, parts, -1, fill_pairs, scale);
}

static void pack_pairs(const qb__bp_cone_problem *p, size_t view, qb__bp_cone_window window, const float *image,
                       size_t row_stride, void *block) {
    pack_pairs_part(p, view, window, image, row_stride, block, 0, 1);
}

/* Integers are scaled by each view's largest value. */
static const char *pairs_unusable(const struct qb__device_info *device, const void *of, const int *values) {
    if (!((const qb__bp_cone_problem *)of)->largest)
        return "needs each filtered view's largest value beforehand, which one pass does not know";
    return matrix_unusable(device, of, values);
}

#define PACK_PAIRS .pack = pack_pairs, .pack_part = pack_pairs_part
