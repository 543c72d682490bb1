/* SPDX-License-Identifier: MIT */
#include "ops/resample.h"

#include <math.h>

#include "base/memory.h"
#include "base/status.h"
#include "cpu/features.h"

enum { TAPS = QB__RESAMPLE_TAPS, PHASES = QB__RESAMPLE_PHASES, BEFORE = TAPS / 2 - 1 };

/* Weights are interpolated between two phases, with an error of at most 5e-6. */
struct qb__resampler {
    qb__resample_loop *loop;
    float weight[PHASES + 2][TAPS];
};

/* The modified Bessel function I0, by its power series. */
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
    if (status == QB_OK) (*out)->loop = qb__resample_loop_choose(qb__cpu_features());
    for (int p = 0; status == QB_OK && p < PHASES + 2; p++) {
        double w[TAPS], sum = 0;
        for (int k = 0; k < TAPS; k++) sum += w[k] = tap((double)p / PHASES + BEFORE - k);
        for (int k = 0; k < TAPS; k++) (*out)->weight[p][k] = (float)(w[k] / sum);
    }
    return status;
}

void qb__resampler_destroy(qb__resampler *resampler) { qb__free(resampler); }

const float *qb__resampler_taps(const qb__resampler *resampler) { return resampler->weight[0]; }

void qb__resample_extend(float *row, size_t columns) {
    for (int i = 1; i <= QB__RESAMPLE_EDGE; i++) {
        row[-i] = row[0];
        row[columns - 1 + (size_t)i] = row[columns - 1];
    }
}

void qb__resample_row(const qb__resampler *resampler, const qb__resample_image *image, const double *column,
                      const double *row, size_t count, float outside, float *out) {
    resampler->loop(resampler->weight, image, column, row, count, outside, out);
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
    for (size_t i = last == count ? 0 : last + 1; i < count; i++) row[i] = last == count ? 0 : row[last];
}
