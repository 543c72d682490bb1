/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Number of cells required on the left and right of every row; qb__resample_extend fills them. */
enum {
    QB__RESAMPLE_EDGE = 4,
    QB__RESAMPLE_MARGIN = 4 /* rows that interpolation may need above and below */
};

/* Rows row0 <= row < row1 of an image with `rows` rows: pixel (row, column) is cells[(row - row0) * stride +
 * column]. */
typedef struct qb__resample_image {
    const float *cells;
    size_t stride, columns, rows, row0, row1;
} qb__resample_image;

enum { QB__RESAMPLE_TAPS = 8, QB__RESAMPLE_PHASES = 512 };
/* Positions may lie beyond the edge of the detector by this amount, so that rounding does not decide whether a position
 * on the edge is inside. */
#define QB__RESAMPLE_SLACK 1e-9

/* The loop of qb__resample_row. weight: table of weights for positions 0, 1/512, ... after the fourth tap. All variants
 * give the same bits. */
typedef void qb__resample_loop(const float (*weight)[QB__RESAMPLE_TAPS], const qb__resample_image *image,
                               const double *column, const double *row, size_t count, float outside, float *out);

qb__resample_loop qb__resample_loop_scalar, qb__resample_loop_avx2;
/* The fastest variant for these features (cpu/features.h). */
qb__resample_loop *qb__resample_loop_choose(uint32_t features);
