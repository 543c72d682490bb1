/* SPDX-License-Identifier: MIT */
#include "job/contact_sheet.h"

#include <math.h>

#include "base/memory.h"
#include "base/select.h"
#include "base/status.h"

/* Columns first .. end - 1 of row y inside the ellipse, without the outermost ones, which lack a neighbour. */
static void chord(size_t nx, size_t ny, size_t y, size_t *first, size_t *end) {
    const double cy = 0.5 * ((double)ny - 1), cx = 0.5 * ((double)nx - 1);
    const double t = ((double)y - cy) / (0.5 * (double)ny), half = 0.5 * (double)nx * sqrt(fmax(0, 1 - t * t));
    const double low = fmax(1, ceil(cx - half)), high = fmin((double)nx - 2, floor(cx + half));
    *first = (size_t)low;
    *end = high >= low ? (size_t)high + 1 : *first;
}

typedef struct sums {
    double value, absolute, square, gradient;
    size_t values, gradients, noises;
} sums;

static void add_row(const float *row, size_t nx, size_t first, size_t end, double zero, sums *s, float *noise) {
    for (size_t x = first; x < end; x++) {
        const float *at = row + x;
        const double v = at[0] - zero, gx = 0.5 * ((double)at[1] - at[-1]), gy = 0.5 * ((double)at[nx] - *(at - nx)),
                     mixed = 0.5 * fabs((double)at[0] - at[1] - at[nx] + at[nx + 1]);
        if (isfinite(v)) s->value += v, s->absolute += fabs(v), s->square += v * v, s->values++;
        if (isfinite(gx) && isfinite(gy)) s->gradient += gx * gx + gy * gy, s->gradients++;
        if (isfinite(mixed)) noise[s->noises++] = (float)mixed;
    }
}

qb_status qb__sharpness_of(const float *image, size_t nx, size_t ny, double zero, qb__sharpness *out) {
    sums s = {0};
    float *noise = NULL;
    qb_status status;
    *out = (qb__sharpness){0};
    if (nx < 3 || ny < 3) return QB_OK;
    QB__TRY(qb__alloc(nx * ny, sizeof *noise, &noise));
    for (size_t y = 1; y + 1 < ny; y++) {
        size_t first, end;
        chord(nx, ny, y, &first, &end);
        add_row(image + y * nx, nx, first, end, zero, &s, noise);
    }
    if (!s.values || !s.gradients) goto out;
    const double mean = s.value / (double)s.values, variance = fmax(0, s.square / (double)s.values - mean * mean);
    out->mean = zero + mean;
    out->positivity = s.absolute > 0 ? fabs(s.value) / s.absolute : 0;
    out->edges = variance > 0 ? sqrt(s.gradient / (double)s.gradients / variance) : 0;
    out->noise = s.noises ? 1.4826 * qb__float_median(noise, s.noises) : 0;
out:
    qb__free(noise);
    return status;
}
