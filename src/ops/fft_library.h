/* SPDX-License-Identifier: MIT */
#ifndef QB_OPS_FFT_LIBRARY_H
#define QB_OPS_FFT_LIBRARY_H

#include "ops/fft.h"

/* What computes transforms; fft.h says what each function does. */
struct qb__fft_library {
    const char *name;
    qb_status (*create)(qb__fft_kind kind, size_t length, qb__fft **fft);
    void (*destroy)(qb__fft *fft);
    void (*forward)(const qb__fft *fft, float *in, float *out);
    void (*backward)(const qb__fft *fft, float *in, float *out);
};

/* Each library's own struct begins with this. */
struct qb__fft {
    const qb__fft_library *library;
};

extern const qb__fft_library qb__fft_own;
#ifdef QB_HAVE_FFTW
extern const qb__fft_library qb__fft_fftw;
#endif

#endif
