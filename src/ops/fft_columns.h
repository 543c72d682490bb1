/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>

#include "base/status.h"
#include "cpu/fft/fft_lanes.h"

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
