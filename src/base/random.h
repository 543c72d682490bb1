/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Counter-based random numbers: a seed and an index name a stream, so that the numbers of a pixel do not depend on the
 * thread or the order. SplitMix64 (Steele, Lea, Flood 2014). */
typedef struct qb__random {
    uint64_t state;
} qb__random;

static inline uint64_t qb__mix64(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static inline qb__random qb__random_stream(uint64_t seed, uint64_t index) {
    uint64_t key = qb__mix64(seed + 0x9e3779b97f4a7c15u);
    return (qb__random){qb__mix64(key ^ qb__mix64(index + 0x632be59bd9b4e019u))};
}

static inline uint64_t qb__random_bits(qb__random *random) { return qb__mix64(random->state += 0x9e3779b97f4a7c15u); }

/* Uniform in the open interval (0, 1). */
static inline double qb__random_unit(qb__random *random) {
    return ((double)(qb__random_bits(random) >> 11) + 0.5) * 0x1p-53;
}

/* White noise in -1..1 from a seed, the same on every machine. */
static inline void qb__noise(float *values, size_t count, uint64_t seed) {
    for (size_t i = 0; i < count; i++)
        values[i] = (float)((double)(qb__mix64((seed + i + 1) * 0x9e3779b97f4a7c15u) >> 11) * 0x1p-52 - 1.0);
}
