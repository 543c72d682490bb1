/* SPDX-License-Identifier: MIT */
/* Compiled once for each vector length; QB_RESAMPLE is the name of the function. No fused operations. */
#include "cpu/rows/resample_row.h"

#include <math.h>
#include <stdbool.h>

enum { TAPS = QB__RESAMPLE_TAPS, PHASES = QB__RESAMPLE_PHASES, BEFORE = TAPS / 2 - 1 };

static inline void weights_at(const float (*weight)[TAPS], double part, float *restrict w) {
    float place = (float)part * PHASES;
    int phase = (int)place;
    const float *a = weight[phase], *b = weight[phase + 1];
    float rest = place - (float)phase;
    for (int k = 0; k < TAPS; k++) w[k] = a[k] + rest * (b[k] - a[k]);
}

/* Rows are added tap by tap, then the eight columns in pairs. All variants use this order. */
static inline float read_at(const float (*weight)[TAPS], const qb__resample_image *image, double column, double row) {
    double left = floor(column), below = floor(row);
    float wx[TAPS], wy[TAPS], sum[TAPS] = {0};
    weights_at(weight, column - left, wx);
    weights_at(weight, row - below, wy);
    ptrdiff_t c = (ptrdiff_t)left - BEFORE, first = (ptrdiff_t)below - BEFORE;
    ptrdiff_t low = (ptrdiff_t)image->row0, high = (ptrdiff_t)image->row1 - 1;
    for (int k = 0; k < TAPS; k++) {
        ptrdiff_t at = first + k < low ? low : first + k > high ? high : first + k;
        const float *cells = image->cells + (size_t)(at - low) * image->stride + c;
        for (int j = 0; j < TAPS; j++) sum[j] += wy[k] * cells[j];
    }
    for (int j = 0; j < TAPS; j++) sum[j] *= wx[j];
    for (int step = TAPS / 2; step > 0; step /= 2)
        for (int j = 0; j < step; j++) sum[j] += sum[j + step];
    return sum[0];
}

void QB_RESAMPLE(const float (*weight)[TAPS], const qb__resample_image *image, const double *column, const double *row,
                 size_t count, float outside, float *out) {
    const double first = -0.5 - QB__RESAMPLE_SLACK, right = (double)image->columns + (-1 - first),
                 top = (double)image->rows + (-1 - first);
    for (size_t i = 0; i < count; i++) {
        double c = column[i], r = row[i];
        bool inside = c >= first && c <= right && r >= first && r <= top;
        out[i] = inside ? read_at(weight, image, c, r) : outside;
    }
}
