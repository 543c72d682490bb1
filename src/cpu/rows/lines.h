/* SPDX-License-Identifier: MIT */
#ifndef QB_CPU_ROWS_LINES_H
#define QB_CPU_ROWS_LINES_H

#include <stddef.h>
#include <stdint.h>

typedef struct qb__lines_found {
    uint64_t clamped, bad;
} qb__lines_found;

/* The bits of what has no value, both NaN: lost, or brighter than the detector can tell. */
enum { QB__LINE_LOST = 0x7fc00000, QB__LINE_FULL = 0x7fc00001 };
/* A transmission above 1000 or below -1000 was not measured. Bits of 1000.0f. */
enum { QB__MOST_TRANSMISSION = 0x447a0000 };
/* Nor was a line integral beyond this, whatever its unit. A scan may have a lower limit (io/scan/scan.h). */
#define QB__MOST_INTEGRAL 1e12f

/* The inner loops of preparing a row, for one set of CPU features. All sets give the same bits,
 * which do not depend on the C library either. Both add to *found; count < 2^31. */
typedef struct qb__lines {
    /* t = (raw - dark) * gain * scale; out = -ln(max(t, floor)), QB__LINE_LOST where gain is 0 or t is not
     * finite or beyond 1000, else QB__LINE_FULL where raw >= top. The logarithm's relative error is below 2e-7. dark and gain may be
     * NULL (0 and 1). floor: a normal number above 0. top: above 0, may be infinite. */
    void (*integrals)(const float *raw, const float *dark, const float *gain, float scale, float floor, float top,
                      size_t count, float *out, qb__lines_found *found);
    /* out = raw - dark, NaN where that is not finite or its size is above `most`. dark may be NULL. */
    void (*check)(const float *raw, const float *dark, float most, size_t count, float *out, qb__lines_found *found);
    /* out = (raw - dark) * gain */
    void (*scaled)(const float *raw, const float *dark, const float *gain, size_t count, float *out);
    /* out = (raw - dark) * gain / change, NaN where raw >= top, gain <= 0, stuck, or the size of that is `most` or more; how many are. All
     * fields may be NULL. */
    uint64_t (*transmissions)(const float *raw, const float *dark, const float *gain, const float *change,
                              const unsigned char *stuck, float top, float most, size_t count, float *out);
    /* out = t * change * (flat - dark) + dark. All fields may be NULL. */
    void (*numbers)(const float *t, const float *dark, const float *flat, const float *change, size_t count,
                    float *out);
    /* found[i] = 1 where row[i] is a zinger, else 0 (prep/zingers.c); how many are. At most 256. row[-stride] is the row above, whose pixels
     * -1 to count are looked at; stride 0: there is one row, and pixels -2 to count + 1 are. gain and dark may be NULL (1 and 0). */
    int (*zingers)(const float *row, size_t stride, const float *gain, const float *dark, const float noise[2],
                   float sigma, size_t count, int *found);
    /* The same by the views before and after, of which pixels -2 to count + 1 are looked at. */
    int (*zingers_in_time)(const float *row, const float *before, const float *after, const float *gain,
                           const float *dark, const float noise[2], float sigma, size_t count, int *found);
} qb__lines;

extern const qb__lines qb__lines_scalar, qb__lines_avx2, qb__lines_avx512;
/* The fastest for these features (cpu/features.h). */
const qb__lines *qb__lines_choose(uint32_t features);

#endif
