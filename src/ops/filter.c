/* SPDX-License-Identifier: MIT */
#include "ops/filter.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "ops/fft.h"
#include "ops/window.h"

struct qb__filter {
    size_t columns, length;
    qb_pad pad;
    bool identity;   /* `none` */
    qb__fft *fft;
    float *response; /* [length / 2 + 1], with 1 / length of the transforms */
};

/* The band-limited ramp in space, |n| <= length / 2, is even and decays like 1/n^2; its transform,
 * unlike |f| itself, has the right value at zero. Summed directly it would take length^2 operations;
 * a real transform in double is not at hand, so the closed form of the odd terms' sum is used:
 *   H(k) = 1/4 - (2 / pi^2) sum over odd n of cos(2 pi k n / length) / n^2
 * by a recurrence in n for each k, which is exact enough in double and still fast (length^2 / 8). */
static double ramp_at(size_t k, size_t length) {
    const double pi = 3.14159265358979323846;
    double step = 4 * pi * (double)k / (double)length; /* from odd n to odd n + 2 */
    double c = cos(step / 2), s = sin(step / 2), cs = cos(step), sn = sin(step), sum = 0;
    for (size_t n = 1; 2 * n < length; n += 2) {
        sum += c / ((double)n * (double)n);
        double next = c * cs - s * sn;
        s = s * cs + c * sn;
        c = next;
    }
    sum *= 2; /* n and -n */
    if (length / 2 % 2) sum += (k % 2 ? -1.0 : 1.0) / ((double)(length / 2) * (double)(length / 2));
    return 0.25 - sum / (pi * pi);
}

static void fill_response(qb__filter *filter, const qb__window *window, double pitch) {
    size_t half = filter->length / 2;
    double scale = 1.0 / (pitch * (double)filter->length);
    for (size_t k = 0; k <= half; k++) {
        double w = qb__window_at(window, (double)k / (double)half);
        filter->response[k] = w == 0 ? 0.0f : (float)(ramp_at(k, filter->length) * w * scale);
    }
}

qb_status qb__filter_create(const char *spec, qb_pad pad, size_t columns, double pitch,
                            qb__filter **out) {
    *out = NULL;
    qb__filter *filter = NULL;
    qb__window window = {0};
    qb_status status;
    QB__TRY(qb__window_parse(spec, &window));
    QB__TRY(qb__alloc(1, sizeof *filter, &filter));
    filter->columns = columns;
    filter->pad = pad;
    filter->identity = !window.ramp;
    /* Twice the width: no output within the detector sees the row wrapped around. */
    filter->length = qb__fft_good_length(2 * columns < 16 ? 16 : 2 * columns);
    QB__TRY(qb__fft_create(filter->length, &filter->fft));
    QB__TRY(qb__alloc(filter->length / 2 + 1, sizeof(float), &filter->response));
    fill_response(filter, &window, pitch);
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
    qb__free(filter->response);
    qb__free(filter);
}

size_t qb__filter_length(const qb__filter *filter) { return filter->length; }

/* Two buffers: the padded row, and its spectrum. */
static size_t buffer_floats(const qb__filter *filter) { return (filter->length + 2 + 15) / 16 * 16; }
size_t qb__filter_scratch(const qb__filter *filter) { return 2 * buffer_floats(filter) * sizeof(float); }
size_t qb__filter_bytes(const qb__filter *filter) {
    return sizeof *filter + (filter->length / 2 + 1) * sizeof(float);
}

/* The part beyond the row belongs half to its right end and half, wrapped around, to its left one. */
static void pad_row(const qb__filter *filter, float *row) {
    size_t n = filter->columns, extra = filter->length - n, right = extra / 2;
    if (filter->pad == QB_PAD_ZERO) {
        memset(row + n, 0, extra * sizeof *row);
    } else if (filter->pad == QB_PAD_EDGE) {
        for (size_t i = 0; i < right; i++) row[n + i] = row[n - 1];
        for (size_t i = right; i < extra; i++) row[n + i] = row[0];
    } else {
        for (size_t i = 0; i < extra; i++) {
            bool from_right = i < right;
            size_t away = (from_right ? i : extra - 1 - i) % (2 * n);
            if (away >= n) away = 2 * n - 1 - away;
            row[n + i] = from_right ? row[n - 1 - away] : row[away];
        }
    }
}

static void filter_row(const qb__filter *filter, float *row, float weight, float *real,
                       float *spectrum) {
    memcpy(real, row, filter->columns * sizeof *row);
    pad_row(filter, real);
    qb__fft_forward(filter->fft, real, spectrum);
    size_t count = filter->length / 2 + 1;
    for (size_t k = 0; k < count; k++) {
        float r = filter->response[k] * weight;
        spectrum[2 * k] *= r;
        spectrum[2 * k + 1] *= r;
    }
    qb__fft_back(filter->fft, spectrum, real);
    memcpy(row, real, filter->columns * sizeof *row);
}

void qb__filter_rows(const qb__filter *filter, float *rows, size_t count, size_t stride,
                     float weight, void *scratch) {
    float *real = scratch, *spectrum = real + buffer_floats(filter);
    for (size_t r = 0; r < count; r++) {
        float *row = rows + r * stride;
        if (!filter->identity) {
            filter_row(filter, row, weight, real, spectrum);
        } else {
            for (size_t i = 0; i < filter->columns; i++) row[i] *= weight;
        }
    }
}
