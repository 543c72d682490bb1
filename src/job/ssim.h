/* SPDX-License-Identifier: MIT */
#ifndef QB_BENCH_SSIM_H
#define QB_BENCH_SSIM_H

#include <stddef.h>

/* Structural similarity (Wang, Bovik, Sheikh, Simoncelli 2004) with an even window: the sum over
 * all windows that lie within an image[ny][nx] and in *windows their number. Windows are 7x7, or as
 * many whole pixels as a smaller image has; K1 = 0.01, K2 = 0.03, sample covariances: what
 * scikit-image calls its defaults. `level` is subtracted while squaring so that little cancels:
 * something near the data's mean. scratch: qb__ssim_scratch(nx) doubles. */
size_t qb__ssim_scratch(size_t nx);
double qb__ssim_sum(const float *a, const float *b, size_t nx, size_t ny, double range, double level, double *scratch,
                    size_t *windows);

#endif
