/* SPDX-License-Identifier: MIT */
#include "ops/fft.h"

#include <fftw3.h>
#include <limits.h>
#include <pthread.h>

#include "base/memory.h"

struct qb__fft {
    qb__fft_kind kind;
    fftwf_plan forward, backward;
};

/* FFTW's planner is the one part of it that threads may not share. */
static pthread_mutex_t planner = PTHREAD_MUTEX_INITIALIZER;

static void plan(qb__fft *fft, int rows, int n, float *a, float *b) {
    unsigned flags = FFTW_ESTIMATE | FFTW_DESTROY_INPUT;
    if (rows) {
        fft->forward = fftwf_plan_dft_r2c_2d(rows, n, a, (fftwf_complex *)b, flags);
        fft->backward = fftwf_plan_dft_c2r_2d(rows, n, (fftwf_complex *)a, b, flags);
    } else if (fft->kind == QB__FFT_REAL) {
        fft->forward = fftwf_plan_dft_r2c_1d(n, a, (fftwf_complex *)b, flags);
        fft->backward = fftwf_plan_dft_c2r_1d(n, (fftwf_complex *)a, b, flags);
    } else {
        fft->forward = fftwf_plan_dft_1d(n, (fftwf_complex *)a, (fftwf_complex *)b, FFTW_FORWARD, flags);
        fft->backward = fftwf_plan_dft_1d(n, (fftwf_complex *)a, (fftwf_complex *)b, FFTW_BACKWARD, flags);
    }
}

/* rows 0: of one dimension. */
static qb_status create(qb__fft_kind kind, size_t rows, size_t length, qb__fft **out) {
    const size_t lines = rows ? rows : 1;
    *out = NULL;
    if (length == 0 || length > INT_MAX / 4 / lines)
        return qb__fail(QB_UNSUPPORTED, "a Fourier transform of %zu values", length);
    qb__fft *fft = NULL;
    float *a = NULL, *b = NULL; /* an estimate only looks at how they are aligned */
    qb_status status;
    QB__TRY(qb__alloc(1, sizeof *fft, &fft));
    fft->kind = kind;
    QB__TRY(qb__alloc(lines, (2 * length + 2) * sizeof *a, &a));
    QB__TRY(qb__alloc(lines, (2 * length + 2) * sizeof *b, &b));
    pthread_mutex_lock(&planner);
    plan(fft, (int)rows, (int)length, a, b);
    pthread_mutex_unlock(&planner);
    if (!fft->forward || !fft->backward)
        status = qb__fail(QB_NO_MEMORY, "planning a Fourier transform of %zu values", length);
out:
    qb__free(a);
    qb__free(b);
    if (status != QB_OK) {
        qb__fft_destroy(fft);
        return status;
    }
    *out = fft;
    return QB_OK;
}

qb_status qb__fft_create(qb__fft_kind kind, size_t length, qb__fft **fft) { return create(kind, 0, length, fft); }

qb_status qb__fft_create_plane(size_t rows, size_t length, qb__fft **fft) {
    *fft = NULL;
    if (rows == 0 || rows > INT_MAX / 4) return qb__fail(QB_UNSUPPORTED, "a Fourier transform of %zu rows", rows);
    return create(QB__FFT_REAL, rows, length, fft);
}

void qb__fft_destroy(qb__fft *fft) {
    if (!fft) return;
    pthread_mutex_lock(&planner);
    if (fft->forward) fftwf_destroy_plan(fft->forward);
    if (fft->backward) fftwf_destroy_plan(fft->backward);
    pthread_mutex_unlock(&planner);
    qb__free(fft);
}

void qb__fft_forward(const qb__fft *fft, float *in, float *out) {
    if (fft->kind == QB__FFT_REAL)
        fftwf_execute_dft_r2c(fft->forward, in, (fftwf_complex *)out);
    else
        fftwf_execute_dft(fft->forward, (fftwf_complex *)in, (fftwf_complex *)out);
}

void qb__fft_backward(const qb__fft *fft, float *in, float *out) {
    if (fft->kind == QB__FFT_REAL)
        fftwf_execute_dft_c2r(fft->backward, (fftwf_complex *)in, out);
    else
        fftwf_execute_dft(fft->backward, (fftwf_complex *)in, (fftwf_complex *)out);
}

/* What a point costs against a short power of two; rounded from the medians in bench/notes/cpu.md.
 * Other odd parts (7, 9, 25, 27, ...) cost twice as much and never win; long powers of two suffer
 * from strides that fall into the same cache sets. */
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
