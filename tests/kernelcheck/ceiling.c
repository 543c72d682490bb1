/* SPDX-License-Identifier: MIT */
#include "kernelcheck.h"
#include "base/clock.h"

enum { ROUNDS = 1 << 16, TRIES = 9, CHAINS = 12 };

#if defined(__x86_64__)
/* In assembly, so that no compiler removes any of it. Twelve independent chains hide the latency. All numbers are zero,
 * so there are neither denormals nor overflow. */
#define TWELVE(X, reg)                                                                                                 \
    X(0, reg)                                                                                                          \
    X(1, reg)                                                                                                          \
    X(2, reg)                                                                                                          \
    X(3, reg) X(4, reg) X(5, reg) X(6, reg) X(7, reg) X(8, reg) X(9, reg) X(10, reg) X(11, reg)
#define CLEAR(n, reg) "vxorps %%xmm" #n ", %%xmm" #n ", %%xmm" #n "\n"
#define FMA(n, reg) "vfmadd231ps %%" reg #n ", %%" reg #n ", %%" reg #n "\n"
#define LOAD(n, reg) "vmovups " #n "*32(%[data]), %%" reg #n "\n"
#define MEASURE(name, OPERATION, reg)                                                                                  \
    static void name(const float *data) {                                                                              \
        long rounds = ROUNDS;                                                                                          \
        __asm__ volatile(TWELVE(CLEAR, reg) "1:\n" TWELVE(OPERATION, reg) "dec %[rounds]\n"                            \
                                                                          "jnz 1b\nvzeroupper"                         \
                         : [rounds] "+r"(rounds)                                                                       \
                         : [data] "r"(data)                                                                            \
                         : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",    \
                           "xmm11", "cc", "memory");                                                                   \
    }

#define LOAD_512(n, reg) "vmovups " #n "*64(%[data]), %%" reg #n "\n"
MEASURE(fma_512, FMA, "zmm")
MEASURE(load_512, LOAD_512, "zmm")
MEASURE(fma_256, FMA, "ymm")
MEASURE(load_256, LOAD, "ymm")
#endif

static double best_rate(void (*run)(const float *), double lanes) {
    _Alignas(64) float data[CHAINS * 16] = {0};
    double best = 1e9;
    for (int i = 0; i < TRIES; i++) {
        double begin = qb__now();
        run(data);
        double took = qb__now() - begin;
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
