/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "recon/mbir/mbir.h"

/* A ray has met something when it lost more than 5 % of the mean. */
qb__mbir_sigmas qb__mbir_sigmas_of(const float *lines, const float *weights, size_t count, double width,
                                   double relative_voxel, double sharpness, double snr_db) {
    double mean = 0, sum = 0, square = 0;
    size_t met = 0;
    for (size_t i = 0; i < count; i++) mean += fabs((double)lines[i]);
    mean /= count ? (double)count : 1;
    for (size_t i = 0; i < count; i++) {
        const double y = (double)lines[i];
        if (!(y > 0.05 * mean)) continue;
        met++;
        sum += y;
        square += (double)weights[i] * y * y;
    }
    if (!met) return (qb__mbir_sigmas){1, 1};
    const double typical = sum / (double)met / width, rms = sqrt(square / (double)met);
    const double y = rms * pow(10, -snr_db / 20) * sqrt(relative_voxel);
    return (qb__mbir_sigmas){0.2 * exp2(sharpness) * typical, y > 0 ? y : 1};
}
