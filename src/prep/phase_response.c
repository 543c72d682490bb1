/* SPDX-License-Identifier: MIT */
#include "prep/phase_response.h"

#include <math.h>

#include "base/memory.h"
#include "base/status.h"

static const double pi = 3.14159265358979323846;

/* exp(-2 pi m / L) < 5e-5 for the kernel's exponential tail, and the Gaussians' reach; the ringing beyond it is below
 * that from 32 pixels on. */
static size_t margin_of(double length, double sigma, double spread) {
    return (size_t)fmax(32, ceil(10 * length / (2 * pi)) + ceil(5 * sigma + 6 * spread));
}

void qb__phase_margins(const qb__paganin *how, size_t rows, size_t *wide, size_t *high) {
    *wide = margin_of(how->columns, how->sigma[0], how->spread[0]);
    *high = rows > 1 ? margin_of(how->rows, how->sigma[1], how->spread[1]) : 0;
}

/* (L f)^2 of frequency k of n, or its equivalent for the discrete Laplacian. */
static double square(const qb__paganin *how, double length, size_t k, size_t n) {
    const double f = (double)(k <= n / 2 ? k : n - k) / (double)n;
    const double s = how->generalised ? sin(pi * f) / pi : f;
    return length * length * s * s;
}

/* Response of a Gaussian mean of sigma pixels, for frequencies 0 to count - 1 of n. */
static qb_status make_gaussian(double sigma, size_t count, size_t n, float **gaussian) {
    const qb_status status = qb__alloc(count, sizeof **gaussian, gaussian);
    for (size_t k = 0; status == QB_OK && k < count; k++) {
        const double f = (double)(k <= n / 2 ? k : n - k) / (double)n * sigma;
        (*gaussian)[k] = (float)exp(-2 * pi * pi * f * f);
    }
    return status;
}

qb_status qb__phase_response_create(const qb__paganin *how, size_t height, size_t stride, size_t width,
                                    qb__phase_response *r) {
    *r = (qb__phase_response){.scale = (float)(1 / ((double)height * (double)stride))};
    QB__OR_RETURN(qb__alloc(width, sizeof *r->column, &r->column));
    QB__OR_RETURN(qb__alloc(height, sizeof *r->row, &r->row));
    for (size_t k = 0; k < width; k++) r->column[k] = (float)square(how, how->columns, k, stride);
    for (size_t k = 0; k < height; k++) r->row[k] = (float)(1 + square(how, how->rows, k, height));
    if (how->unsharp > 0) {
        r->unsharp = (float)how->unsharp;
        QB__OR_RETURN(make_gaussian(how->sigma[0], width, stride, &r->mean_column));
        QB__OR_RETURN(make_gaussian(how->sigma[1], height, height, &r->mean_row));
    }
    if (how->scatter > 0) {
        r->share = (float)how->scatter;
        r->offset = (float)(1 - 1 / (1 - how->scatter));
        QB__OR_RETURN(make_gaussian(how->spread[0], width, stride, &r->spread_column));
        QB__OR_RETURN(make_gaussian(how->spread[1], height, height, &r->spread_row));
    }
    return QB_OK;
}

void qb__phase_response_clear(qb__phase_response *r) {
    float *const all[] = {r->column, r->row, r->mean_column, r->mean_row, r->spread_column, r->spread_row};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) qb__free(all[i]);
    *r = (qb__phase_response){.scale = 0};
}
