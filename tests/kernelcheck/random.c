/* SPDX-License-Identifier: MIT */
#include "kernelcheck.h"

#include <math.h>

/* A counter through a finaliser: every seed starts a stream of its own. */
uint64_t rng_bits(rng *r) {
    uint64_t z = r->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

double rng_uniform(rng *r, double low, double high) {
    return low + (high - low) * (double)(rng_bits(r) >> 11) * 0x1p-53;
}

double rng_normal(rng *r) {
    double u = rng_uniform(r, 0x1p-53, 1.0), v = rng_uniform(r, 0.0, 6.283185307179586);
    return sqrt(-2.0 * log(u)) * cos(v);
}

size_t rng_below(rng *r, size_t n) {
    return (size_t)(rng_bits(r) % n);
}
