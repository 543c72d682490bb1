/* SPDX-License-Identifier: MIT */
#include "kernelcheck.h"

#include <time.h>

double seconds_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

enum { ROUNDS = 1 << 16, TRIES = 9, CHAINS = 12 };

/* Twelve independent chains hide the latency; the compiler must believe that all are used. */
#define KEEP(x) __asm__ volatile("" : "+v"(x))

#if defined(__x86_64__)
#include <immintrin.h>

#define MEASURE(name, isa, vector, body)                                                           \
    __attribute__((target(isa))) static void name(const float *data) {                             \
        vector sum[CHAINS];                                                                        \
        __builtin_memset(sum, 0, sizeof sum);                                                      \
        for (int round = 0; round < ROUNDS; round++) {                                             \
            _Pragma("GCC unroll 12") for (int i = 0; i < CHAINS; i++) body                         \
        }                                                                                          \
        (void)data;                                                                                \
    }

MEASURE(fma_512, "avx512f", __m512, {
    KEEP(sum[i]);
    sum[i] = _mm512_fmadd_ps(sum[i], sum[i], sum[i]);
    KEEP(sum[i]);
})
MEASURE(load_512, "avx512f", __m512, {
    sum[i] = _mm512_load_ps(data + i * 16);
    KEEP(sum[i]);
})
MEASURE(fma_256, "avx2,fma", __m256, {
    KEEP(sum[i]);
    sum[i] = _mm256_fmadd_ps(sum[i], sum[i], sum[i]);
    KEEP(sum[i]);
})
MEASURE(load_256, "avx2,fma", __m256, {
    sum[i] = _mm256_load_ps(data + i * 8);
    KEEP(sum[i]);
})
#endif

static double best_rate(void (*run)(const float *), double lanes) {
    _Alignas(64) float data[CHAINS * 16] = {0};
    double best = 1e9;
    for (int i = 0; i < TRIES; i++) {
        double begin = seconds_now();
        run(data);
        double took = seconds_now() - begin;
        if (took < best) best = took;
    }
    return 1e-9 * ROUNDS * CHAINS * lanes / best;
}

double ceiling_fma(int bits) {
#if defined(__x86_64__)
    if (bits >= 512) return best_rate(fma_512, 16);
    if (bits >= 256) return best_rate(fma_256, 8);
#endif
    return (void)bits, (void)best_rate, 0.0;
}

double ceiling_load(int bits) {
#if defined(__x86_64__)
    if (bits >= 512) return best_rate(load_512, 16);
    if (bits >= 256) return best_rate(load_256, 8);
#endif
    return (void)bits, 0.0;
}
