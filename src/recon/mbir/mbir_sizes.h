/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdint.h>
#include <string.h>

/* A histogram of floats by |y|: 32 bins per octave, and one for infinite values. The bits of positive floats have the
 * same order as the floats. */
enum { QB__SIZE_SHIFT = 18, QB__SIZE_BINS = 0x7f800000 >> QB__SIZE_SHIFT };

static inline uint32_t qb__size_bin(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (bits & 0x7fffffff) >> QB__SIZE_SHIFT;
}

/* Lower limit of a bin. */
static inline double qb__size_of_bin(size_t bin) {
    const uint32_t bits = (uint32_t)(bin < QB__SIZE_BINS ? bin : QB__SIZE_BINS) << QB__SIZE_SHIFT;
    float value;
    memcpy(&value, &bits, sizeof value);
    return (double)value;
}
