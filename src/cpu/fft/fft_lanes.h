/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Fourier transforms in vectors of L floats. A line of N = L M complex numbers is stored as M rows of L columns: number
 * L m + l is in lane l of row m. All columns are transformed at once, one in each lane. Then each row is multiplied by
 * exp(-2 pi i l k/N), blocks of L rows are transposed, and transforms of length L finish the work. */
typedef struct qb__fft_pass {
    int radix;
    const float *turns; /* radix - 1 complex factors for each of the n / radix groups */
} qb__fft_pass;

typedef struct qb__fft_lanes {
    size_t rows; /* M, the number of rows */
    int passes;
    qb__fft_pass pass[32];
    const float *turns; /* only for a line: for each row L real parts, then L imaginary parts */
} qb__fft_lanes;

/* Rows of the columns that are given and wanted. Before `low` and from `high` on, the next given row is repeated; only
 * rows first <= row < end are written. */
typedef struct qb__fft_rows {
    size_t low, high, first, end;
} qb__fft_rows;

typedef struct qb__fft_kernel {
    int lanes;                     /* L; M is at least L */
    const unsigned char order[16]; /* lane l holds column order[l] */
    /* Transforms a line forward, or backward if `inverse`, without scaling. Overwrites `in`. */
    void (*line)(const qb__fft_lanes *plan, bool inverse, float *in, float *out);
    /* Filters every column of `columns` complex numbers in place: transform, multiplication by factors, inverse
     * transform. Rows are `stride` floats apart; factors[column / L][row][lane]. scratch: 4 L M floats. */
    void (*filter_columns)(const qb__fft_lanes *plan, float *cells, size_t columns, size_t stride,
                           const qb__fft_rows *which, const float *factors, float *scratch);
    /* Steps between the transform z of the `half` complex numbers (x[0], x[1]), (x[2], x[3]), ... and that of all
     * numbers of x, in place; turns: exp(-2 pi i k / (2 half)), k <= half / 2. They do k = 1 and more together with
     * half - k, and return the first k that is left to do. */
    size_t (*join_halves)(const float *turns, size_t half, float *z);
    size_t (*split_halves)(const float *turns, size_t half, float *z);
} qb__fft_kernel;

extern const qb__fft_kernel qb__fft_scalar, qb__fft_avx2, qb__fft_avx512;
/* The kernel with the longest vectors for these features (cpu/features.h) whose L divides `length` and that has at
 * least L rows; NULL if there is none. For columns, pass L times the number of rows as length. */
const qb__fft_kernel *qb__fft_kernel_choose(uint32_t features, size_t length);
