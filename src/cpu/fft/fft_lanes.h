/* SPDX-License-Identifier: MIT */
#ifndef QB_CPU_FFT_LANES_H
#define QB_CPU_FFT_LANES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Fourier transforms in vectors of L floats. A line of N = L M complex numbers is read as M rows of L columns:
 * number L m + l stands in lane l of row m. The columns are transformed all at once, one in each lane. Then each
 * row is turned by exp(-2 pi i l k/N), blocks of L rows are transposed, and transforms of length L end the work. */
typedef struct qb__fft_pass {
    int radix;
    const float *turns; /* for each of the n / radix groups: radix - 1 complex numbers */
} qb__fft_pass;

typedef struct qb__fft_lanes {
    size_t rows; /* M */
    int passes;
    qb__fft_pass pass[32];
    const float *turns; /* for each row L real parts, then L imaginary parts; of a line alone */
} qb__fft_lanes;

typedef struct qb__fft_kernel {
    int lanes;                     /* L; M is at least as large */
    const unsigned char order[16]; /* lane l holds column order[l] */
    /* Forward, or backward with `inverse`; neither is scaled. `in` is destroyed. */
    void (*line)(const qb__fft_lanes *plan, bool inverse, float *in, float *out);
    /* Every column of `columns` complex numbers, in place: its transform times its factors, transformed back. Rows are `stride` floats
     * apart; factors[column / L][row][lane]. scratch: 4 L M floats. */
    void (*filter_columns)(const qb__fft_lanes *plan, float *cells, size_t columns, size_t stride, const float *factors,
                           float *scratch);
} qb__fft_kernel;

extern const qb__fft_kernel qb__fft_scalar, qb__fft_avx2, qb__fft_avx512;
/* The widest for these features (cpu/features.h) whose L divides `length`, with at least L rows; NULL if there is
 * none. For columns, length is L times what they have. */
const qb__fft_kernel *qb__fft_kernel_choose(uint32_t features, size_t length);

#endif
