/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>

/* Structural similarity (Wang, Bovik, Sheikh, Simoncelli 2004) with a uniform window: returns the sum over all windows
 * inside image[ny][nx]; *windows is their number. Windows are 7x7, or smaller for a smaller image; K1 = 0.01, K2 =
 * 0.03, sample covariances, the defaults of scikit-image. `level` is subtracted before squaring to avoid cancellation:
 * use a value near the data's mean. scratch: qb__ssim_scratch(nx) doubles. */
size_t qb__ssim_scratch(size_t nx);
double qb__ssim_sum(const float *a, const float *b, size_t nx, size_t ny, double range, double level, double *scratch,
                    size_t *windows);
