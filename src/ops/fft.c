/* SPDX-License-Identifier: MIT */
#include "ops/fft.h"

#include <fftw3.h>
#include <pthread.h>

#include "base/memory.h"
#include "base/status.h"

struct qb__fft {
    fftwf_plan forward, back;
};

/* FFTW's planner, unlike its transforms, is not thread-safe. */
static pthread_mutex_t planning = PTHREAD_MUTEX_INITIALIZER;

size_t qb__fft_good_length(size_t n) {
    static const size_t primes[] = {2, 3, 5, 7};
    for (size_t length = n + n % 2;; length += 2) {
        size_t rest = length;
        for (size_t i = 0; i < sizeof primes / sizeof primes[0]; i++) {
            while (rest && rest % primes[i] == 0) rest /= primes[i];
        }
        if (rest == 1) return length;
    }
}

qb_status qb__fft_create(size_t length, qb__fft **out) {
    *out = NULL;
    qb__fft *fft = NULL;
    float *real = NULL, *spectrum = NULL;
    qb_status status;
    QB__TRY(qb__alloc(1, sizeof *fft, &fft));
    QB__TRY(qb__alloc(length, sizeof *real, &real));
    QB__TRY(qb__alloc(length + 2, sizeof *spectrum, &spectrum));
    pthread_mutex_lock(&planning);
    fft->forward = fftwf_plan_dft_r2c_1d((int)length, real, (fftwf_complex *)spectrum, FFTW_ESTIMATE);
    fft->back = fftwf_plan_dft_c2r_1d((int)length, (fftwf_complex *)spectrum, real, FFTW_ESTIMATE);
    pthread_mutex_unlock(&planning);
    if (!fft->forward || !fft->back)
        status = qb__fail(QB_INTERNAL, "FFTW has no plan for %zu points", length);
out:
    qb__free(real);
    qb__free(spectrum);
    if (status != QB_OK) {
        qb__fft_destroy(fft);
        return status;
    }
    *out = fft;
    return QB_OK;
}

void qb__fft_destroy(qb__fft *fft) {
    if (!fft) return;
    pthread_mutex_lock(&planning);
    if (fft->forward) fftwf_destroy_plan(fft->forward);
    if (fft->back) fftwf_destroy_plan(fft->back);
    pthread_mutex_unlock(&planning);
    qb__free(fft);
}

void qb__fft_forward(const qb__fft *fft, float *real, float *spectrum) {
    fftwf_execute_dft_r2c(fft->forward, real, (fftwf_complex *)spectrum);
}

void qb__fft_back(const qb__fft *fft, float *spectrum, float *real) {
    fftwf_execute_dft_c2r(fft->back, (fftwf_complex *)spectrum, real);
}
