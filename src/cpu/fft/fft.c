/* SPDX-License-Identifier: MIT */
/* Vectors of four floats, which every compiler and processor supports. */
#include <string.h>

#include "cpu/features.h"
#include "cpu/fft/fft_lanes.h"

#define QB_FFT qb__fft_scalar
#define L 4
#define LANES(X) X(0) X(1) X(2) X(3)
#define ORDER 0, 1, 2, 3

typedef float v __attribute__((vector_size(16)));
typedef struct c {
    v re, im;
} c;

static inline c unzip(const float *x) { return (c){{x[0], x[2], x[4], x[6]}, {x[1], x[3], x[5], x[7]}}; }

static inline void zip(float *x, c a) {
    const float pairs[] = {a.re[0], a.im[0], a.re[1], a.im[1], a.re[2], a.im[2], a.re[3], a.im[3]};
    memcpy(x, pairs, sizeof pairs);
}

static inline v reverse(v a) { return (v){a[3], a[2], a[1], a[0]}; }

static inline void transpose(v *a) {
    const v x = a[0], y = a[1], z = a[2], w = a[3];
    a[0] = (v){x[0], y[0], z[0], w[0]};
    a[1] = (v){x[1], y[1], z[1], w[1]};
    a[2] = (v){x[2], y[2], z[2], w[2]};
    a[3] = (v){x[3], y[3], z[3], w[3]};
}

#include "cpu/fft/fft_body.h"

const qb__fft_kernel *qb__fft_kernel_choose(uint32_t features, size_t length) {
    const qb__fft_kernel *kernels[3] = {NULL, NULL, &qb__fft_scalar};
#if defined(__x86_64__)
    if (features & QB__CPU_AVX512) kernels[0] = &qb__fft_avx512;
    if (features & QB__CPU_AVX2) kernels[1] = &qb__fft_avx2;
#endif
    (void)features;
    for (int i = 0; i < 3; i++) {
        const size_t lanes = kernels[i] ? (size_t)kernels[i]->lanes : 0;
        if (lanes && length % lanes == 0 && length / lanes >= lanes) return kernels[i];
    }
    return NULL;
}
