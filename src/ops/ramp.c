/* SPDX-License-Identifier: MIT */
#include "ops/window.h"

#include <complex.h>
#include <math.h>

#include "base/memory.h"

/* A simple mixed-radix transform in double precision, used once per plan, because the FFT library is single
 * precision. */
typedef struct transform {
    const double *in;
    const double complex *root; /* exp(-2 pi i k/length) */
    size_t length;
} transform;

static size_t smallest_factor(size_t n) {
    for (size_t p = 2; p * p <= n; p++) {
        if (n % p == 0) return p;
    }
    return n;
}

/* out[k] = sum over j < n of in[first + j*step] exp(-2 pi i jk/n), n = length/step. */
static void dft(const transform *t, size_t first, size_t step, double complex *out) {
    size_t n = t->length / step;
    if (n == 1) {
        out[0] = t->in[first];
        return;
    }
    size_t p = smallest_factor(n), m = n / p;
    for (size_t r = 0; r < p; r++) dft(t, first + r * step, step * p, out + r * m);
    double complex part[16];
    if (p > 16) return;
    for (size_t k = 0; k < m; k++) {
        for (size_t r = 0; r < p; r++) part[r] = out[k + r * m];
        for (size_t q = 0; q < p; q++) {
            size_t at = k + q * m;
            double complex sum = part[0];
            for (size_t r = 1; r < p; r++) sum += part[r] * t->root[r * at % n * step];
            out[at] = sum;
        }
    }
}

qb_status qb__ramp(size_t length, double *ramp) {
    double *kernel = NULL;
    double complex *root = NULL, *out = NULL;
    qb_status status;
    QB__TRY(qb__alloc(length, sizeof *kernel, &kernel));
    QB__TRY(qb__alloc(length, sizeof *root, &root));
    QB__TRY(qb__alloc(length, sizeof *out, &out));
    for (size_t i = 0; i < length; i++) {
        double n = M_PI * (double)(i <= length / 2 ? i : length - i);
        double angle = 2 * M_PI * (double)i / (double)length;
        kernel[i] = i % 2 ? -1 / (n * n) : 0;
        root[i] = cos(angle) - sin(angle) * I;
    }
    kernel[0] = 0.25;
    dft(&(transform){kernel, root, length}, 0, 1, out);
    for (size_t k = 0; k <= length / 2; k++) ramp[k] = creal(out[k]);
out:
    QB__FREE(kernel, root, out);
    return status;
}
