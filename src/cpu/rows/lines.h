/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef struct qb__lines_found {
    uint64_t clamped, bad;
} qb__lines_found;

/* Bits of the two NaNs for pixels without a value: not measured, or saturated. */
enum { QB__LINE_LOST = 0x7fc00000, QB__LINE_FULL = 0x7fc00001 };
/* A transmission above 1000 or below -1000 counts as not measured. Bits of 1000.0f. */
enum { QB__MOST_TRANSMISSION = 0x447a0000 };
/* A line integral of larger magnitude counts as not measured, in any unit. A scan may have a lower limit
 * (io/scan/scan.h). */
#define QB__MOST_INTEGRAL 1e12f

/* The inner loops for preparing a row, for one set of CPU features. All sets give the same bits, which do not depend on
 * the C library. integrals() and check() add to *found; count < 2^31. */
typedef struct qb__lines {
    /* t = (raw - dark) * gain * scale; out = -ln(max(t, floor)). out is QB__LINE_LOST if gain is 0, or if t is not
     * finite or its magnitude is above 1000; else QB__LINE_FULL if raw >= top. The relative error of the logarithm is
     * below 2e-7. dark and gain may be NULL (0 and 1). floor: a normal number above 0. top: above 0, may be
     * infinite. */
    void (*integrals)(const float *raw, const float *dark, const float *gain, float scale, float floor, float top,
                      size_t count, float *out, qb__lines_found *found);
    /* out = raw - dark, or NaN if that is not finite or its magnitude is above `most`. dark may be NULL. */
    void (*check)(const float *raw, const float *dark, float most, size_t count, float *out, qb__lines_found *found);
    /* out = (raw - dark) * gain */
    void (*scaled)(const float *raw, const float *dark, const float *gain, size_t count, float *out);
    /* out = (raw - dark) * gain / change, or NaN if raw >= top, gain <= 0, stuck, or the magnitude of the result is at
     * least `most`. Returns the number of NaN. All fields may be NULL. */
    uint64_t (*transmissions)(const float *raw, const float *dark, const float *gain, const float *change,
                              const unsigned char *stuck, float top, float most, size_t count, float *out);
    /* out = t * change * (flat - dark) + dark. All fields may be NULL. */
    void (*numbers)(const float *t, const float *dark, const float *flat, const float *change, size_t count,
                    float *out);
    /* found[i] = 1 if row[i] is a zinger, else 0 (prep/zingers.c); returns their number. count is at most 256.
     * row[-stride] is the row above; its pixels -1 to count are read. stride 0: there is one row, and its pixels -2 to
     * count + 1 are read. gain and dark may be NULL (1 and 0). */
    int (*zingers)(const float *row, size_t stride, const float *gain, const float *dark, const float noise[2],
                   float sigma, size_t count, int *found);
    /* As zingers(), but compared with the views before and after, whose pixels -2 to count + 1 are read. */
    int (*zingers_in_time)(const float *row, const float *before, const float *after, const float *gain,
                           const float *dark, const float noise[2], float sigma, size_t count, int *found);
} qb__lines;

extern const qb__lines qb__lines_scalar, qb__lines_avx2, qb__lines_avx512;
/* The fastest set for these features (cpu/features.h). */
const qb__lines *qb__lines_choose(uint32_t features);
