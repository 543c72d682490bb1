/* SPDX-License-Identifier: MIT */
#include "ops/filter.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "cpu/features.h"
#include "cpu/rows/filter_pairs.h"
#include "ops/fft.h"
#include "ops/window.h"

/* A row of N = 2M padded samples is transformed as M complex numbers z = even + i odd samples. This is as fast as two
 * rows in one complex transform, but the bits of a row do not depend on another row. With Z = FFT(z), w = i
 * conj(Z[M-k]) and theta = 2 pi k/N, the row's spectrum X results from a rotation of (Z[k], w) by phi = pi/4 + theta/2:
 *   exp(i phi) X[k]            =  cos(phi) Z[k] + sin(phi) w
 *   i exp(i phi) conj(X[M-k])  = -sin(phi) Z[k] + cos(phi) w
 * The filter is real, so: rotate, scale by H[k] and H[M-k], rotate back. With t = cot(phi) in [0, 1] and sin(phi)^2
 * moved into the H this needs three coefficients. Because i conj() exchanges real and imaginary part, it is one pass
 * over the floats of Z from both ends to the middle, without complex numbers. Low and high frequencies are separated
 * before they are scaled: one combined 2x2 matrix would be cheaper, but leaks rounding errors of H[M-k] X[k] into X[k],
 * where the ramp is smallest. */
struct qb__filter {
    size_t columns, length, half; /* length = 2 half */
    size_t left;                  /* padding before the row; the rest of the padding comes after it */
    qb_pad pad;
    bool identity;
    qb__fft *fft;
    qb__filter_pairs *pairs;
    float *turn, *low, *high; /* [half + 1] t, H[k] sin^2/M, H[M-k] sin^2/M at float 2k, 2k+1 */
    size_t bytes;
};

/* Twice the width. With zeros, no tap of the kernel wraps around between two columns. With mirror, the row and its
 * images are continuous. With edge, the two ends meet in a step at least half a width away, whose effect on a column is
 * below step/(pi^2 width). A continuation of limited length fits in completely, without wrapping. */
static qb_status set_length(qb__filter *filter) {
    size_t reach = qb__extend_reach(filter->pad, filter->columns);
    if (reach == SIZE_MAX || filter->columns > SIZE_MAX / 4) reach = 0;
    filter->half = qb__fft_length(filter->columns + reach);
    if (filter->half == 0) return qb__fail(QB_UNSUPPORTED, "filtering rows of %zu columns", filter->columns);
    filter->length = 2 * filter->half;
    if (filter->pad != QB_PAD_ZERO) filter->left = (filter->length - filter->columns) / 2;
    return QB_OK;
}

/* response[k] at frequency k/length, k <= half, for any pitch. */
static qb_status find_response(const qb__filter *filter, const qb__window *window, double pitch, double *response) {
    size_t half = filter->half;
    if (window->ramp) { QB__OR_RETURN(qb__ramp(filter->length, response)); }
    for (size_t k = 0; k <= half; k++) {
        double gain = window->ramp ? response[k] / pitch : 1;
        response[k] = gain * qb__window_at(window, (double)k / (double)half);
    }
    return QB_OK;
}

static void set_coefficients(qb__filter *filter, const double *response) {
    size_t half = filter->half;
    for (size_t j = 0; j <= half; j++) {
        size_t k = j / 2;
        double phi = M_PI / 4 + M_PI * (double)k / (double)filter->length;
        double scale = sin(phi) * sin(phi) / (double)half;
        filter->turn[j] = (float)(cos(phi) / sin(phi));
        filter->low[j] = (float)(response[k] * scale);
        filter->high[j] = (float)(response[half - k] * scale);
    }
}

static qb_status build(qb__filter *filter, const qb__window *window, double pitch) {
    size_t count = filter->half + 1;
    double *response = NULL;
    qb_status status;
    QB__TRY(qb__alloc(count, sizeof *response, &response));
    QB__TRY(find_response(filter, window, pitch, response));
    QB__TRY(qb__alloc(count, sizeof(float), &filter->turn));
    QB__TRY(qb__alloc(count, sizeof(float), &filter->low));
    QB__TRY(qb__alloc(count, sizeof(float), &filter->high));
    filter->bytes += 3 * count * sizeof(float);
    set_coefficients(filter, response);
    QB__TRY(qb__fft_create(QB__FFT_COMPLEX, filter->half, &filter->fft));
    filter->bytes += filter->length * sizeof(float); /* approximate size of its twiddle factors */
out:
    qb__free(response);
    return status;
}

qb_status qb__filter_create(const char *spec, qb_pad pad, size_t columns, double pitch, qb__filter **out) {
    *out = NULL;
    if (columns == 0 || !(pitch > 0 && isfinite(pitch)))
        return qb__fail(QB_BAD_ARGUMENT, "filtering rows of %zu columns, %g mm apart", columns, pitch);
    qb__window window;
    qb__filter *filter = NULL;
    qb_status status = qb__window_parse(spec, &window);
    if (status != QB_OK) return status;
    QB__TRY(qb__alloc(1, sizeof *filter, &filter));
    *filter = (qb__filter){.columns = columns, .pad = pad, .bytes = sizeof *filter};
    filter->pairs = qb__filter_pairs_choose(qb__cpu_features());
    filter->identity = !window.ramp && window.cutoff >= 1;
    QB__TRY(set_length(filter));
    if (!filter->identity) QB__TRY(build(filter, &window, pitch));
out:
    qb__window_clear(&window);
    if (status != QB_OK) {
        qb__filter_destroy(filter);
        return status;
    }
    *out = filter;
    return QB_OK;
}

void qb__filter_destroy(qb__filter *filter) {
    if (!filter) return;
    qb__fft_destroy(filter->fft);
    QB__FREE(filter->turn, filter->low, filter->high, filter);
}

/* Floats of one of the two buffers; the next one begins on a cache line. */
static size_t buffer(const qb__filter *filter) { return (filter->length + 15) / 16 * 16; }

size_t qb__filter_length(const qb__filter *filter) { return filter->length; }
size_t qb__filter_scratch(const qb__filter *filter) { return 2 * buffer(filter) * sizeof(float); }

void qb__filter_describe(const qb__filter *filter, qb__filter_spectrum *spectrum) {
    *spectrum = (qb__filter_spectrum){.columns = filter->columns,
                                      .half = filter->half,
                                      .left = filter->left,
                                      .pad = filter->pad,
                                      .identity = filter->identity,
                                      .turn = filter->turn,
                                      .low = filter->low,
                                      .high = filter->high};
}

static void extend(const qb__filter *filter, const float *restrict row, float *restrict padded) {
    size_t columns = filter->columns, left = filter->left;
    memcpy(padded + left, row, columns * sizeof *row);
    qb__extend(filter->pad, padded + left, columns, left, filter->length - left - columns);
}

/* Filter the padded row `one`; `two` is scratch. */
static void convolve(const qb__filter *filter, float *one, float *two) {
    size_t half = filter->half;
    qb__fft_forward(filter->fft, one, two);
    filter->pairs(filter->turn, filter->low, filter->high, 1, two, two + 1); /* frequencies 0 and Nyquist */
    filter->pairs(filter->turn + 2, filter->low + 2, filter->high + 2, half - 1, two + 2, two + filter->length - 1);
    qb__fft_backward(filter->fft, two, one);
}

static void filter_row(const qb__filter *filter, float *row, float weight, float *one, float *two) {
    extend(filter, row, one);
    convolve(filter, one, two);
    const float *from = one + filter->left;
    for (size_t c = 0; c < filter->columns; c++) row[c] = from[c] * weight;
}

void qb__filter_rows(const qb__filter *filter, float *rows, size_t count, size_t stride, float weight, void *scratch) {
    float *one = scratch, *two = one + buffer(filter);
    for (size_t r = 0; r < count; r++) {
        float *row = rows + r * stride;
        if (!filter->identity)
            filter_row(filter, row, weight, one, two);
        else
            for (size_t c = 0; c < filter->columns; c++) row[c] *= weight;
    }
}

qb_status qb__filter_check_transpose(qb_pad pad) {
    if (pad == QB_PAD_EDGE || pad == QB_PAD_ZERO || pad == QB_PAD_MIRROR) return QB_OK;
    return qb__fail(QB_UNSUPPORTED,
                    "--pad taper and ellipse are not linear and have no transpose: edge, zero and mirror have");
}

/* The filter is symmetric, because its response is real. */
void qb__filter_row_transposed(const qb__filter *filter, float *row, float weight, void *scratch) {
    float *one = scratch, *two = one + buffer(filter), *middle = one + filter->left;
    const size_t columns = filter->columns;
    if (filter->identity) {
        for (size_t c = 0; c < columns; c++) row[c] *= weight;
        return;
    }
    memset(one, 0, filter->length * sizeof *one);
    for (size_t c = 0; c < columns; c++) middle[c] = row[c] * weight;
    convolve(filter, one, two);
    qb__extend_transposed(filter->pad, middle, columns, filter->left, filter->length - filter->left - columns);
    memcpy(row, middle, columns * sizeof *row);
}
