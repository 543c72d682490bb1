/* SPDX-License-Identifier: MIT */
#pragma once

#include "ops/fft.h"

/* Interface of an FFT library; see fft.h for the functions. */
struct qb__fft_library {
    const char *name;
    qb_status (*create)(qb__fft_kind kind, size_t length, qb__fft **fft);
    void (*destroy)(qb__fft *fft);
    void (*forward)(const qb__fft *fft, float *in, float *out);
    void (*backward)(const qb__fft *fft, float *in, float *out);
};

/* The first member of each library's own struct. */
struct qb__fft {
    const qb__fft_library *library;
};

extern const qb__fft_library qb__fft_own;
#ifdef QB_HAVE_FFTW
extern const qb__fft_library qb__fft_fftw;
#endif
