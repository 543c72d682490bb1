/* SPDX-License-Identifier: MIT */
#include <fftw3.h>
#include <pthread.h>

#include "base/memory.h"
#include "ops/fft.h"

typedef struct fftw {
    qb__fft head;
    fftwf_plan forward, backward;
} fftw;

/* FFTW's planner is its only part that is not thread-safe. */
static pthread_mutex_t planner = PTHREAD_MUTEX_INITIALIZER;

static void plan(fftw *fft, int n, float *a, float *b) {
    unsigned flags = FFTW_ESTIMATE | FFTW_DESTROY_INPUT;
    fft->forward = fftwf_plan_dft_1d(n, (fftwf_complex *)a, (fftwf_complex *)b, FFTW_FORWARD, flags);
    fft->backward = fftwf_plan_dft_1d(n, (fftwf_complex *)a, (fftwf_complex *)b, FFTW_BACKWARD, flags);
}

static void destroy(qb__fft *library) {
    fftw *fft = (fftw *)library;
    pthread_mutex_lock(&planner);
    if (fft->forward) fftwf_destroy_plan(fft->forward);
    if (fft->backward) fftwf_destroy_plan(fft->backward);
    pthread_mutex_unlock(&planner);
    qb__free(fft);
}

static qb_status create(qb__fft_kind kind, size_t length, qb__fft **out) {
    float *a = NULL, *b = NULL; /* an estimate only checks their alignment */
    fftw *fft;
    /* Our own transform of real numbers, by half as many complex ones, takes half the time of FFTW's. */
    if (kind == QB__FFT_REAL) return qb__fft_own.create(kind, length, out);
    qb_status status = qb__alloc(1, sizeof *fft, &fft);
    if (status != QB_OK) return status;
    *fft = (fftw){.head.library = &qb__fft_fftw};
    QB__TRY(qb__alloc(2 * length + 2, sizeof *a, &a));
    QB__TRY(qb__alloc(2 * length + 2, sizeof *b, &b));
    pthread_mutex_lock(&planner);
    plan(fft, (int)length, a, b);
    pthread_mutex_unlock(&planner);
    if (!fft->forward || !fft->backward)
        status = qb__fail(QB_NO_MEMORY, "planning a Fourier transform of %zu values", length);
out:
    QB__FREE(a, b);
    if (status != QB_OK)
        destroy(&fft->head);
    else
        *out = &fft->head;
    return status;
}

static void forward(const qb__fft *library, float *in, float *out) {
    const fftw *fft = (const fftw *)library;
    fftwf_execute_dft(fft->forward, (fftwf_complex *)in, (fftwf_complex *)out);
}

static void backward(const qb__fft *library, float *in, float *out) {
    const fftw *fft = (const fftw *)library;
    fftwf_execute_dft(fft->backward, (fftwf_complex *)in, (fftwf_complex *)out);
}

const qb__fft_library qb__fft_fftw = {"fftw", create, destroy, forward, backward};
