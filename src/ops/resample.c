/* SPDX-License-Identifier: MIT */
#include "ops/resample.h"

#include <math.h>

#include "base/memory.h"
#include "base/status.h"

enum { TAPS = 8, BEFORE = TAPS / 2 - 1, PHASES = 512 };

/* Between two phases weights are interpolated: 5e-6 off at most. */
struct qb__resampler {
    float weight[PHASES + 2][TAPS];
};

/* The modified Bessel function I0, by its series. */
static double bessel(double x) {
    double sum = 1, term = 1;
    for (int k = 1; k < 40; k++) {
        term *= x / (2 * k) * (x / (2 * k));
        sum += term;
    }
    return sum;
}

static double tap(double x) {
    const double beta = 6, half = TAPS / 2;
    double inside = 1 - x / half * (x / half);
    if (!(inside > 0)) return 0;
    double window = bessel(beta * sqrt(inside)) / bessel(beta);
    return x == 0 ? window : window * sin(M_PI * x) / (M_PI * x);
}

qb_status qb__resampler_create(qb__resampler **out) {
    qb_status status = qb__alloc(1, sizeof **out, out);
    for (int p = 0; status == QB_OK && p < PHASES + 2; p++) {
        double w[TAPS], sum = 0;
        for (int k = 0; k < TAPS; k++) sum += w[k] = tap((double)p / PHASES + BEFORE - k);
        for (int k = 0; k < TAPS; k++) (*out)->weight[p][k] = (float)(w[k] / sum);
    }
    return status;
}

void qb__resampler_destroy(qb__resampler *resampler) {
    qb__free(resampler);
}

void qb__resample_extend(float *row, size_t columns) {
    for (int i = 1; i <= QB__RESAMPLE_EDGE; i++) {
        row[-i] = row[0];
        row[columns - 1 + (size_t)i] = row[columns - 1];
    }
}

static inline void weights_at(const qb__resampler *r, double part, float *restrict w) {
    float place = (float)part * PHASES;
    int phase = (int)place;
    const float *a = r->weight[phase], *b = r->weight[phase + 1];
    float rest = place - (float)phase;
    for (int k = 0; k < TAPS; k++) w[k] = a[k] + rest * (b[k] - a[k]);
}

/* Rows are added tap by tap, then the eight columns in pairs: the same order everywhere. */
static inline float read_at(const qb__resampler *r, const qb__resample_image *image, double column,
                            double row) {
    double left = floor(column), below = floor(row);
    float wx[TAPS], wy[TAPS], sum[TAPS] = {0};
    weights_at(r, column - left, wx);
    weights_at(r, row - below, wy);
    ptrdiff_t c = (ptrdiff_t)left - BEFORE, first = (ptrdiff_t)below - BEFORE;
    ptrdiff_t low = (ptrdiff_t)image->row0, high = (ptrdiff_t)image->row1 - 1;
    for (int k = 0; k < TAPS; k++) {
        ptrdiff_t at = first + k < low ? low : first + k > high ? high : first + k;
        const float *cells = image->cells + (size_t)(at - low) * image->stride;
        for (int j = 0; j < TAPS; j++) sum[j] += wy[k] * cells[c + j];
    }
    for (int j = 0; j < TAPS; j++) sum[j] *= wx[j];
    for (int step = TAPS / 2; step > 0; step /= 2)
        for (int j = 0; j < step; j++) sum[j] += sum[j + step];
    return sum[0];
}

void qb__resample_row(const qb__resampler *resampler, const qb__resample_image *image,
                      const double *column, const double *row, size_t count, float outside,
                      float *out) {
    double right = (double)image->columns - 0.5, top = (double)image->rows - 0.5;
    for (size_t i = 0; i < count; i++) {
        double c = column[i], r = row[i];
        bool inside = c >= -0.5 && c <= right && r >= -0.5 && r <= top;
        out[i] = inside ? read_at(resampler, image, c, r) : outside;
    }
}

void qb__resample_fill(float *row, size_t count) {
    size_t at = 0, last = count;
    for (; at < count; at++) {
        if (isnan(row[at])) continue;
        size_t begin = last == count ? 0 : last + 1;
        for (size_t i = begin; i < at; i++) {
            float part = last == count ? 1 : (float)(i - last) / (float)(at - last);
            row[i] = part == 1 ? row[at] : row[last] + part * (row[at] - row[last]);
        }
        last = at;
    }
    for (size_t i = last == count ? 0 : last + 1; i < count; i++)
        row[i] = last == count ? 0 : row[last];
}
