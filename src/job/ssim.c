/* SPDX-License-Identifier: MIT */
#include "job/ssim.h"

#include <string.h>

enum { WINDOW = 7, SUMS = 5 }; /* a, b, aa, bb, ab */

size_t qb__ssim_scratch(size_t nx) { return SUMS * nx; }

/* Sums of every column over `height` rows. Recomputed for each row of windows, so that rounding errors do not add
 * up. */
static void sum_columns(const float *a, const float *b, size_t nx, size_t height, double level, double *sums) {
    memset(sums, 0, SUMS * nx * sizeof *sums);
    for (size_t y = 0; y < height; y++) {
        for (size_t x = 0; x < nx; x++) {
            double p = a[y * nx + x] - level, q = b[y * nx + x] - level;
            sums[x] += p;
            sums[nx + x] += q;
            sums[2 * nx + x] += p * p;
            sums[3 * nx + x] += q * q;
            sums[4 * nx + x] += p * q;
        }
    }
}

/* A denominator near zero means two constant images, which are equal. */
static double similarity(const double sum[SUMS], double pixels, double range, double level) {
    double ua = sum[0] / pixels, ub = sum[1] / pixels;
    double unbiased = pixels > 1 ? 1 / (pixels - 1) : 0;
    double va = (sum[2] - sum[0] * ua) * unbiased, vb = (sum[3] - sum[1] * ub) * unbiased;
    double vab = (sum[4] - sum[0] * ub) * unbiased;
    ua += level;
    ub += level;
    double c1 = 0.01 * range * 0.01 * range, c2 = 0.03 * range * 0.03 * range;
    double above = (2 * ua * ub + c1) * (2 * vab + c2);
    double below = (ua * ua + ub * ub + c1) * (va + vb + c2);
    return below > 0 ? above / below : above == below;
}

double qb__ssim_sum(const float *a, const float *b, size_t nx, size_t ny, double range, double level, double *scratch,
                    size_t *windows) {
    size_t width = nx < WINDOW ? nx : WINDOW, height = ny < WINDOW ? ny : WINDOW;
    double total = 0, pixels = (double)(width * height);
    for (size_t y = 0; y + height <= ny; y++) {
        sum_columns(a + y * nx, b + y * nx, nx, height, level, scratch);
        for (size_t x = 0; x + width <= nx; x++) {
            double sum[SUMS] = {0};
            for (size_t i = 0; i < width; i++) {
                for (size_t k = 0; k < SUMS; k++) sum[k] += scratch[k * nx + x + i];
            }
            total += similarity(sum, pixels, range, level);
        }
    }
    *windows = (nx - width + 1) * (ny - height + 1);
    return total;
}
