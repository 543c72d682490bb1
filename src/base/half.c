/* SPDX-License-Identifier: MIT */
#include "base/half.h"

#include <stdint.h>
#include <string.h>

static float widen(uint16_t half) {
    uint32_t sign = (uint32_t)(half & 0x8000u) << 16, rest = half & 0x7fffu;
    float value;
    if (rest >= 0x7c00u) { /* infinity, NaN */
        uint32_t bits = sign | 0x7f800000u | (rest & 0x3ffu) << 13;
        memcpy(&value, &bits, sizeof value);
        return value;
    }
    /* The exponent after the shift is 112 too small. The multiplication corrects it, also for subnormal numbers. */
    uint32_t bits = rest << 13;
    memcpy(&value, &bits, sizeof value);
    value *= 0x1p112f;
    return sign ? -value : value;
}

static uint16_t narrow(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint16_t sign = (uint16_t)(bits >> 16 & 0x8000u);
    bits &= 0x7fffffffu;
    if (bits > 0x7f800000u) return (uint16_t)(sign | 0x7e00u);
    if (bits >= 0x477ff000u) return (uint16_t)(sign | 0x7c00u); /* 65520 and more */
    if (bits < 0x38800000u) {                                   /* below 2^-14: subnormal */
        float x;
        memcpy(&x, &bits, sizeof x);
        x += 0.5f; /* the last bit of the sum is 2^-24, the smallest step of float16: rounds to nearest even */
        memcpy(&bits, &x, sizeof bits);
        return (uint16_t)(sign | (bits - 0x3f000000u));
    }
    bits += 0xfffu + (bits >> 13 & 1u); /* nearest even */
    return (uint16_t)(sign | ((bits - 0x38000000u) >> 13));
}

void qb__half_to_float(const void *halves, size_t count, float *out) {
    const uint16_t *in = halves;
    for (size_t i = 0; i < count; i++) out[i] = widen(in[i]);
}

void qb__float_to_half(const float *values, size_t count, void *out) {
    uint16_t *halves = out;
    for (size_t i = 0; i < count; i++) halves[i] = narrow(values[i]);
}
