/* SPDX-License-Identifier: MIT */
#include "ops/fft.h"

#include <limits.h>

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
