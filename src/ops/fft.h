/* SPDX-License-Identifier: MIT */
#ifndef QB_OPS_FFT_H
#define QB_OPS_FFT_H

#include <stddef.h>

#include "base/status.h"

/* Fourier transforms in single precision, out of place, one a call, by FFTW or by our own code.
 * (Batches were measured and bring nothing on a CPU: bench/notes/cpu.md, "Filtering".) Plans are
 * estimated, never timed, so that the same machine computes the same bits in every run. */
typedef struct qb__fft qb__fft;

typedef enum qb__fft_kind {
    QB__FFT_REAL,    /* length floats <-> length/2 + 1 complex */
    QB__FFT_COMPLEX, /* length complex <-> length complex */
} qb__fft_kind;

/* Complex values are pairs of floats. Any thread may call these, also at once. Lengths are those of qb__fft_length. */
qb_status qb__fft_create(qb__fft_kind kind, size_t length, qb__fft **fft);
void qb__fft_destroy(qb__fft *fft); /* NULL-safe */

/* exp(-2 pi i jk/n) and exp(+2 pi i jk/n), neither scaled. in and out are 64-byte aligned and do
 * not overlap; `in` is destroyed. */
void qb__fft_forward(const qb__fft *fft, float *in, float *out);
void qb__fft_backward(const qb__fft *fft, float *in, float *out);

/* The cheapest even length >= at_least; 0 when there is none. */
size_t qb__fft_length(size_t at_least);

/* What computes them: all that this build has, the one in use first, then NULL. For tests and measurements. */
typedef struct qb__fft_library qb__fft_library;
const qb__fft_library *const *qb__fft_libraries(void);
const char *qb__fft_library_name(const qb__fft_library *library);
qb_status qb__fft_create_of(const qb__fft_library *library, qb__fft_kind kind, size_t length, qb__fft **fft);

#endif
