/* SPDX-License-Identifier: MIT */
/* The loops of lines.h, compiled once for each vector length; QB_LINES is the name of the table. Only elementary
 * operations in a fixed order and no fused operations, so that all variants give the same bits. */
#include <string.h>

#include "cpu/rows/lines.h"

static inline int32_t bits_of(float x) {
    int32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline float float_of(int32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* -ln x, with a relative error of 1.3e-7, for the normal number x > 0 with these bits. x = 2^e (1 + r) with 1 + r in
 * sqrt(1/2)..sqrt(2). So e = 0 around x = 1, and ln(1 + r) = r - r^2/2 + r^3 p(r) stays accurate there; p is the
 * minimax polynomial with weight r^3/ln(1 + r). ln 2 is split into two parts, so that e times the first part is
 * exact. */
static inline float minus_log(int32_t bits) {
    int32_t exponent = (bits - 0x3f3504f3) >> 23;
    float r = float_of(bits - exponent * (1 << 23)) - 1, square = r * r, e = (float)exponent;
    float p = -7.634497307e-02f;
    p = p * r + 1.276158233e-01f;
    p = p * r - 1.316018464e-01f;
    p = p * r + 1.420175745e-01f;
    p = p * r - 1.662335707e-01f;
    p = p * r + 2.000122689e-01f;
    p = p * r - 2.500082104e-01f;
    p = p * r + 3.333333171e-01f;
    float small = p * r * square - 0.5f * square - e * 2.12194440e-4f;
    return -(e * 0.693359375f + (r + small));
}

enum { INFINITE = 0x7f800000, NOT_A_NUMBER = QB__LINE_LOST };

/* Comparisons use the bits as integers: the order is the same because floor is positive, and gcc does not vectorise
 * float comparisons that may raise exceptions. At each call it is known whether `dark` and `gain` are NULL, so the
 * compiler makes a separate loop for each case. */
static inline __attribute__((always_inline)) void lines(const float *restrict raw, const float *restrict dark,
                                                        const float *restrict gain, float scale, float floor, float top,
                                                        size_t count, float *restrict out, qb__lines_found *found) {
    int32_t lowest = bits_of(floor), clamped = 0, bad = 0;
    const int32_t highest = bits_of(top) < INFINITE ? bits_of(top) : INT32_MAX;
    for (size_t i = 0; i < count; i++) {
        float t = raw[i];
        if (dark) t -= dark[i];
        if (gain) t *= gain[i];
        t *= scale;
        int32_t bits = bits_of(t), wrong = (bits & INT32_MAX) > QB__MOST_TRANSMISSION;
        int32_t full = bits_of(raw[i]) >= highest;
        if (gain) full &= bits_of(gain[i]) != 0, wrong |= bits_of(gain[i]) == 0;
        wrong |= full;
        int32_t low = bits < lowest;
        int32_t line = bits_of(minus_log(low ? lowest : bits));
        /* a conditional expression would become a branch */
        out[i] = float_of((line & ~-wrong) | (-wrong & NOT_A_NUMBER) | full);
        bad += wrong;
        clamped += low & ~wrong;
    }
    found->clamped += (uint64_t)clamped;
    found->bad += (uint64_t)bad;
}

static void integrals(const float *raw, const float *dark, const float *gain, float scale, float floor, float top,
                      size_t count, float *out, qb__lines_found *found) {
    if (dark && gain)
        lines(raw, dark, gain, scale, floor, top, count, out, found);
    else if (gain)
        lines(raw, NULL, gain, scale, floor, top, count, out, found);
    else if (dark)
        lines(raw, dark, NULL, scale, floor, top, count, out, found);
    else
        lines(raw, NULL, NULL, scale, floor, top, count, out, found);
}

static inline __attribute__((always_inline)) void checked(const float *restrict raw, const float *restrict dark,
                                                          float most, size_t count, float *restrict out,
                                                          qb__lines_found *found) {
    const int32_t highest = bits_of(most);
    int32_t bad = 0;
    for (size_t i = 0; i < count; i++) {
        int32_t bits = bits_of(dark ? raw[i] - dark[i] : raw[i]), wrong = (bits & INT32_MAX) > highest;
        out[i] = float_of(bits | (-wrong & NOT_A_NUMBER));
        bad += wrong;
    }
    found->bad += (uint64_t)bad;
}

static void check(const float *raw, const float *dark, float most, size_t count, float *out, qb__lines_found *found) {
    if (dark)
        checked(raw, dark, most, count, out, found);
    else
        checked(raw, NULL, most, count, out, found);
}

#include "cpu/rows/lines_phase.h"
#include "cpu/rows/lines_zingers.h"

const qb__lines QB_LINES = {integrals, check, scaled, transmissions, numbers, zingers, zingers_in_time};
