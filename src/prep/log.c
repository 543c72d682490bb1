/* SPDX-License-Identifier: MIT */
#include "prep/log.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* x = m 2^e with m in sqrt(1/2)..sqrt(2); ln m = 2 artanh(s), s = (m - 1) / (m + 1), |s| < 0.172, as
 * 2 s (1 + s^2/3 + s^4/5 + s^6/7 + s^8/9); the first term left out is below 2^-28 of the sum. */
static float minus_log(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    uint32_t shifted = bits - 0x3f3504f3u; /* sqrt(1/2) */
    int32_t e = (int32_t)shifted >> 23;
    uint32_t mantissa = bits - ((uint32_t)e << 23);
    float m;
    memcpy(&m, &mantissa, sizeof m);
    float s = (m - 1.0f) / (m + 1.0f), z = s * s;
    float series = z * (0.333333333f + z * (0.2f + z * (0.142857143f + z * 0.111111111f)));
    float log_m = 2.0f * (s + s * series);
    float whole = (float)e;
    /* ln 2 in two parts: the first has few bits, so that its product with e is exact. */
    float result = whole * 0.693145752f + (whole * 1.42860677e-6f + log_m);
    return bits < 0x7f800000u ? -result : NAN;
}

void qb__minus_log(float *values, size_t count) {
    for (size_t i = 0; i < count; i++) values[i] = minus_log(values[i]);
}
