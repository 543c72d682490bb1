/* SPDX-License-Identifier: MIT */
#ifndef QB_CPU_ROWS_RESAMPLE_ROW_H
#define QB_CPU_ROWS_RESAMPLE_ROW_H

#include <stddef.h>
#include <stdint.h>

/* Cells that must be there to the left and to the right of every row; qb__resample_extend fills
 * them. */
enum {
    QB__RESAMPLE_EDGE = 4,
    QB__RESAMPLE_MARGIN = 4 /* rows that a reading may reach beyond its own */
};

/* Rows row0 <= row < row1 of an image of `rows` rows: pixel (row, column) is
 * cells[(row - row0) * stride + column]. */
typedef struct qb__resample_image {
    const float *cells;
    size_t stride, columns, rows, row0, row1;
} qb__resample_image;

enum { QB__RESAMPLE_TAPS = 8, QB__RESAMPLE_PHASES = 512 };
/* Pixels reach so much beyond the detector's edge: whether one that ends there counts does not hang on the last bit. */
#define QB__RESAMPLE_SLACK 1e-9

/* qb__resample_row with a table of weights for places 0, 1/512, ... behind the fourth tap. The bits
 * are the same from every variant. */
typedef void qb__resample_loop(const float (*weight)[QB__RESAMPLE_TAPS], const qb__resample_image *image,
                               const double *column, const double *row, size_t count, float outside, float *out);

qb__resample_loop qb__resample_loop_scalar, qb__resample_loop_avx2;
/* The fastest for these features (cpu/features.h). */
qb__resample_loop *qb__resample_loop_choose(uint32_t features);

#endif
