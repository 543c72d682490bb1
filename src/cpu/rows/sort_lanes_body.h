/* SPDX-License-Identifier: MIT */
/* Compiled once for each vector length; QB_SORT_LANES is the name of the table. Values are sorted by their bits,
 * converted to integers of the same order. */
#include "cpu/rows/sort_lanes.h"

#if defined(__AVX512F__)
#define VECTOR 64
#elif defined(__AVX2__)
#define VECTOR 32
#else
#define VECTOR 16
#endif
typedef int32_t keys32 __attribute__((vector_size(VECTOR), aligned(4), may_alias));
typedef int64_t keys64 __attribute__((vector_size(VECTOR), aligned(8), may_alias));

/* The values of all lanes fill PARTS vectors. */
#define SORT(NAME, KEYS, SIGN, MOST, PARTS)                                                                            \
    static inline __attribute__((always_inline)) void exchange_##NAME(KEYS *a, KEYS *b) {                              \
        for (int l = 0; l < PARTS; l++) {                                                                              \
            const KEYS x = a[l], y = b[l], less = x < y, swap = (x ^ y) & ~less;                                       \
            a[l] = x ^ swap;                                                                                           \
            b[l] = y ^ swap;                                                                                           \
        }                                                                                                              \
    }                                                                                                                  \
    /* Converts bits to integers of the same order; it is its own inverse. */                                          \
    static void turn_##NAME(KEYS *v, size_t count) {                                                                   \
        for (size_t i = 0; i < count * PARTS; i++) v[i] ^= v[i] >> SIGN & MOST;                                        \
    }                                                                                                                  \
    static void network_##NAME(KEYS *v, size_t count) {                                                                \
        turn_##NAME(v, count);                                                                                         \
        for (int bits = 1; count > (size_t)1 << (bits - 1); bits++) /* runs of 2^bits values are merged */             \
            for (size_t k = (size_t)1 << (bits - 1), first = 0; k >= 1; k /= 2, first = k)                             \
                for (size_t j = first; j + k < count; j += 2 * k)                                                      \
                    for (size_t i = j; i < j + k && i + k < count; i++)                                                \
                        if (i >> bits == (i + k) >> bits) exchange_##NAME(v + i * PARTS, v + (i + k) * PARTS);         \
        turn_##NAME(v, count);                                                                                         \
    }

SORT(floats, keys32, 31, INT32_MAX, (QB__SORT_LANES * 4 / VECTOR))
SORT(doubles, keys64, 63, INT64_MAX, (QB__SORT_LANES * 8 / VECTOR))
#undef SORT
#undef VECTOR

static void sort_floats(float (*values)[QB__SORT_LANES], size_t count) { network_floats((keys32 *)values, count); }
static void sort_doubles(double (*values)[QB__SORT_LANES], size_t count) { network_doubles((keys64 *)values, count); }

const qb__sort_lanes QB_SORT_LANES = {sort_floats, sort_doubles};
