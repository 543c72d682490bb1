/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>

#include "base/status.h"
#include "cpu/fft/fft_lanes.h"

/* Fourier transforms in single precision, out of place, one per call, by FFTW or by our own code. (Batches gain nothing
 * on a CPU: bench/notes/cpu.md, "Filtering".) Plans are estimated and never timed, so that a machine computes the same
 * bits in every run. */
typedef struct qb__fft qb__fft;

typedef enum qb__fft_kind {
    QB__FFT_REAL,    /* length floats <-> length/2 + 1 complex */
    QB__FFT_COMPLEX, /* length complex <-> length complex */
} qb__fft_kind;

/* Complex values are pairs of floats. These functions are thread-safe. Lengths come from qb__fft_length. */
qb_status qb__fft_create(qb__fft_kind kind, size_t length, qb__fft **fft);
void qb__fft_destroy(qb__fft *fft); /* NULL-safe */

/* exp(-2 pi i jk/n) and exp(+2 pi i jk/n), both without scaling. in and out are 64-byte aligned and must not overlap;
 * `in` is destroyed. */
void qb__fft_forward(const qb__fft *fft, float *in, float *out);
void qb__fft_backward(const qb__fft *fft, float *in, float *out);

/* The fastest even length >= at_least; 0 if there is none. */
size_t qb__fft_length(size_t at_least);

/* The available FFT libraries, the one in use first, then NULL. For tests and measurements. */
typedef struct qb__fft_library qb__fft_library;
const qb__fft_library *const *qb__fft_libraries(void);
const char *qb__fft_library_name(const qb__fft_library *library);
qb_status qb__fft_create_of(const qb__fft_library *library, qb__fft_kind kind, size_t length, qb__fft **fft);

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

/* Filters columns of complex numbers in place: transform, multiply by real factors, transform back, without scaling.
 * Uses our own transforms, with as many columns as a vector has lanes, so that the data stay in the first cache. */
typedef struct qb__fft_columns qb__fft_columns;

/* `rows` from qb__fft_length(), or 1. factor(self, row, column): the factor of frequency `row` of a column. */
qb_status qb__fft_columns_create(size_t rows, size_t columns,
                                 double (*factor)(const void *self, size_t row, size_t column), const void *self,
                                 qb__fft_columns **fft);
void qb__fft_columns_destroy(qb__fft_columns *fft); /* NULL-safe */
size_t qb__fft_columns_bytes(const qb__fft_columns *fft);
size_t qb__fft_columns_scratch(const qb__fft_columns *fft); /* floats */
/* cells[rows][columns], rows `stride` floats apart. Thread-safe. */
void qb__fft_columns_run(const qb__fft_columns *fft, float *cells, size_t stride, const qb__fft_rows *which,
                         float *scratch);
