/* SPDX-License-Identifier: MIT */
/* Choice of fast lengths; fft_fftw.c or fft_own.c computes the transforms. */
#include "ops/fft.h"

#include <limits.h>

/* Cost per point relative to a short power of two; rounded from the medians in bench/notes/cpu.md. Other odd factors
 * (7, 9, 25, 27, ...) cost twice as much and never win; long powers of two suffer from strides that fall into the same
 * cache sets. */
static double point_cost(size_t odd, size_t length) {
    if (odd == 1) return length < 8192 ? 1.0 : length < 16384 ? 1.6 : 2.4;
    return odd == 5 && length < 8192 ? 1.1 : 1.45;
}

size_t qb__fft_length(size_t at_least) {
    static const size_t odds[] = {1, 3, 5, 15};
    size_t best = 0;
    double best_cost = 0;
    for (size_t i = 0; i < sizeof odds / sizeof odds[0]; i++) {
        size_t n = 2 * odds[i];
        while (n < at_least && n <= INT_MAX / 8) n *= 2;
        double cost = (double)n * point_cost(odds[i], n);
        if (n < at_least || (best && cost >= best_cost)) continue;
        best = n;
        best_cost = cost;
    }
    return best;
}

static const qb__fft_library *const libraries[] = {
#ifdef QB_HAVE_FFTW
    &qb__fft_fftw,
#endif
    &qb__fft_own,
    NULL,
};

const qb__fft_library *const *qb__fft_libraries(void) { return libraries; }
const char *qb__fft_library_name(const qb__fft_library *library) { return library->name; }

qb_status qb__fft_create_of(const qb__fft_library *library, qb__fft_kind kind, size_t length, qb__fft **fft) {
    *fft = NULL;
    if (length == 0 || length > INT_MAX / 4)
        return qb__fail(QB_UNSUPPORTED, "a Fourier transform of %zu values", length);
    return library->create(kind, length, fft);
}

qb_status qb__fft_create(qb__fft_kind kind, size_t length, qb__fft **fft) {
    return qb__fft_create_of(libraries[0], kind, length, fft);
}

void qb__fft_destroy(qb__fft *fft) {
    if (fft) fft->library->destroy(fft);
}

void qb__fft_forward(const qb__fft *fft, float *in, float *out) { fft->library->forward(fft, in, out); }
void qb__fft_backward(const qb__fft *fft, float *in, float *out) { fft->library->backward(fft, in, out); }
