/* SPDX-License-Identifier: MIT */
#pragma once

#include "cpu/fft/fft_lanes.h"
#include "prep/paganin.h"
#include "quickbeam/status.h"

/* Factors of a block's Fourier transform for the filters of paganin.h and scatter.h, as tables:
 *   scale / (column + row) (1 + unsharp (1 - mean_row mean_column)) / (1 - share spread_row spread_column),
 * and `offset` is added to the filtered numbers. */
typedef struct qb__phase_response {
    float *column, *row;           /* frequencies along a row, [width], and along a column, [height] */
    float *mean_column, *mean_row; /* frequency response of a Gaussian mean, same sizes; NULL if unsharp is 0 */
    /* frequency response of the scatter's Gaussian, same sizes; NULL if share is 0 */
    float *spread_column, *spread_row;
    float scale, unsharp, share, offset;
} qb__phase_response;

/* For height x stride numbers, frequencies k < width along a row. */
qb_status qb__phase_response_create(const qb__paganin *how, size_t height, size_t stride, size_t width,
                                    qb__phase_response *response);
void qb__phase_response_clear(qb__phase_response *response);

/* Columns and rows that a block reads beyond those that it returns. Beyond them less than 1e-4 of the kernel lies. */
void qb__phase_margins(const qb__paganin *how, size_t rows, size_t *wide, size_t *high);

/* The filter of paganin.h, and that of scatter.h, on a block of rows of one view. Views are divided into blocks at
 * fixed rows: block i returns rows i * rows to (i + 1) * rows and reads `margin` rows more on both sides, beyond which
 * less than 1e-4 of the kernel lies. So a pixel is always computed from the same numbers, and has the same bits. */
typedef struct qb__phase_filter qb__phase_filter;

typedef struct qb__phase_blocks {
    size_t rows, margin;   /* returned rows; rows read on both sides */
    size_t height, stride; /* rows and columns of the Fourier transform */
    size_t apart;          /* floats from one row's spectrum to the next */
    size_t left;           /* columns before the detector's first */
} qb__phase_blocks;

qb_status qb__phase_filter_create(const qb__paganin *how, size_t rows, size_t columns, qb__phase_filter **filter);
void qb__phase_filter_destroy(qb__phase_filter *filter); /* NULL-safe */
const qb__phase_blocks *qb__phase_filter_blocks(const qb__phase_filter *filter);
size_t qb__phase_filter_bytes(const qb__phase_filter *filter);
/* A block is spectra[height][apart]: rows are transformed one by one, then the block is filtered, and rows are
 * transformed back. line[stride + 16] is destroyed by the first step, and written by the last. All are 64-byte
 * aligned. */
void qb__phase_filter_row(const qb__phase_filter *filter, float *line, float *spectrum);
size_t qb__phase_filter_scratch(const qb__phase_filter *filter); /* floats */
void qb__phase_filter_run(const qb__phase_filter *filter, float *spectra, const qb__fft_rows *which, float *scratch);
void qb__phase_filter_back(const qb__phase_filter *filter, float *spectrum, float *line);
