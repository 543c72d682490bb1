/* SPDX-License-Identifier: MIT */
/* Compiled once for each vector length; QB_SORT_LANES is the name of the table. Values are sorted by their bits,
 * converted to integers of the same order. */
#include "cpu/rows/sort_lanes.h"

typedef int32_t key32 __attribute__((may_alias));
typedef int64_t key64 __attribute__((may_alias));

/* The comparisons of a merge reach over k values, from blocks of k that begin every 2 k; a whole block is left out if
 * its partners belong to the next run. */
#define SORT(NAME, KEY, SIGN, MOST)                                                                                    \
    static inline __attribute__((always_inline)) void exchange_##NAME(KEY *restrict a, KEY *restrict b) {              \
        for (int l = 0; l < QB__SORT_LANES; l++) {                                                                     \
            const KEY x = a[l], y = b[l];                                                                              \
            a[l] = x < y ? x : y;                                                                                      \
            b[l] = x < y ? y : x;                                                                                      \
        }                                                                                                              \
    }                                                                                                                  \
    /* Converts bits to integers of the same order; it is its own inverse. */                                          \
    static void turn_##NAME(KEY *v, size_t count) {                                                                    \
        for (size_t i = 0; i < count * QB__SORT_LANES; i++) v[i] ^= v[i] >> SIGN & MOST;                               \
    }                                                                                                                  \
    static void network_##NAME(KEY(*v)[QB__SORT_LANES], size_t count) {                                                \
        turn_##NAME(*v, count);                                                                                        \
        for (int bits = 1; count > (size_t)1 << (bits - 1); bits++) /* runs of 2^bits values are merged */             \
            for (size_t k = (size_t)1 << (bits - 1), first = 0; k >= 1; k /= 2, first = k)                             \
                for (size_t j = first; j + k < count; j += 2 * k) {                                                    \
                    if (j >> bits != (j + k) >> bits) continue;                                                        \
                    const size_t end = j + 2 * k < count ? j + k : count - k;                                          \
                    for (size_t i = j; i < end; i++) exchange_##NAME(v[i], v[i + k]);                                  \
                }                                                                                                      \
        turn_##NAME(*v, count);                                                                                        \
    }

SORT(floats, key32, 31, INT32_MAX)
SORT(doubles, key64, 63, INT64_MAX)
#undef SORT

static void sort_floats(float (*values)[QB__SORT_LANES], size_t count) {
    network_floats((key32(*)[QB__SORT_LANES])values, count);
}
static void sort_doubles(double (*values)[QB__SORT_LANES], size_t count) {
    network_doubles((key64(*)[QB__SORT_LANES])values, count);
}

const qb__sort_lanes QB_SORT_LANES = {sort_floats, sort_doubles};
