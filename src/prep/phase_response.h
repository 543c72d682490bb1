/* SPDX-License-Identifier: MIT */
#pragma once

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
