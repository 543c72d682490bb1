/* SPDX-License-Identifier: MIT */
#ifndef QB_OPS_FFT_H
#define QB_OPS_FFT_H

#include <stddef.h>

#include "quickbeam/status.h"

/* Real Fourier transforms of one length, single precision; the only place that knows FFTW. Plans are
 * estimated, never timed, so that the same input gives the same bits in every run. Transforms may run
 * in many threads at once. */
typedef struct qb__fft qb__fft;

/* The smallest even length >= n whose prime factors are at most 7. */
size_t qb__fft_good_length(size_t n);
qb_status qb__fft_create(size_t length, qb__fft **fft);
void qb__fft_destroy(qb__fft *fft); /* NULL-safe */

/* Unnormalised. real[length] and spectrum[length / 2 + 1] (re, im) are 64-byte aligned and apart; the
 * way back destroys the spectrum. */
void qb__fft_forward(const qb__fft *fft, float *real, float *spectrum);
void qb__fft_back(const qb__fft *fft, float *spectrum, float *real);

#endif
