/* SPDX-License-Identifier: MIT */
#include "kernelcheck.h"
#include "base/random.h"

#include <math.h>

/* A counter and a finaliser: every seed starts another stream. */
uint64_t rng_bits(rng *r) { return qb__mix64(r->state += UINT64_C(0x9e3779b97f4a7c15)); }

double rng_uniform(rng *r, double low, double high) {
    return low + (high - low) * (double)(rng_bits(r) >> 11) * 0x1p-53;
}

double rng_normal(rng *r) {
    double u = rng_uniform(r, 0x1p-53, 1.0), v = rng_uniform(r, 0.0, 6.283185307179586);
    return sqrt(-2.0 * log(u)) * cos(v);
}

size_t rng_below(rng *r, size_t n) { return (size_t)(rng_bits(r) % n); }
