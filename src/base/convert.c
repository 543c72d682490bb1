/* SPDX-License-Identifier: MIT */
#include "base/convert.h"

#include <string.h>

#include "base/half.h"
#include "quickbeam/io.h"

qb__conversion qb__conversion_of(qb_dtype dtype, double low, double high) {
    const float top = dtype == QB_U8 ? 255.0f : 65535.0f;
    const double half = 0.5 * (high - low) / (double)top;
    qb__conversion c = {dtype, (float)low,          high > low ? (float)((double)top / (high - low)) : 0.0f,
                        top,   (float)(low - half), (float)(high + half)};
    if (dtype == QB_F16) c.least = -65519.996f, c.most = 65519.996f; /* larger values would not round to 65504 */
    return c;
}

/* Round half to even with one addition: exact for 0 <= x < 2^22. Signed, because vector instructions convert signed
 * integers. */
static inline int quantise(float x, const qb__conversion *c) {
    float q = (x - c->base) * c->scale;
    q = q > 0.0f ? q : 0.0f; /* also turns NaN into 0 */
    q = q < c->top ? q : c->top;
    return (int)(q + 8388608.0f - 8388608.0f);
}

/* The largest float16 is 65504; infinity is not a value of a volume. NaN stays. */
static void halve(const float *values, size_t count, unsigned short *out) {
    enum { BLOCK = 256 };
    float block[BLOCK];
    for (size_t at = 0; at < count; at += BLOCK) {
        size_t n = count - at < BLOCK ? count - at : BLOCK;
        for (size_t i = 0; i < n; i++) {
            float v = values[at + i];
            block[i] = v > 65504.0f ? 65504.0f : v < -65504.0f ? -65504.0f : v;
        }
        qb__float_to_half(block, n, out + at);
    }
}

size_t qb_count_outside(const float *values, size_t count, qb_dtype dtype, double low, double high) {
    const qb__conversion c = qb__conversion_of(dtype, low, high);
    const float least = c.least, most = c.most;
    size_t outside = 0;
    if (dtype == QB_F32) return 0;
    /* No branches; counters have the width of floats, so that the loop is vectorised. */
    enum { RUN = 1 << 16 };
    for (size_t at = 0; at < count; at += RUN) {
        const size_t n = count - at < RUN ? count - at : RUN;
        int inside = 0;
        for (size_t i = 0; i < n; i++) inside += (values[at + i] >= least) & (values[at + i] <= most);
        outside += n - (size_t)inside;
    }
    return outside;
}

void qb_convert_from_float(const float *values, size_t count, qb_dtype dtype, double low, double high, void *out) {
    const qb__conversion c = qb__conversion_of(dtype, low, high);
    if (dtype == QB_U8) {
        unsigned char *bytes = out;
        for (size_t i = 0; i < count; i++) bytes[i] = (unsigned char)quantise(values[i], &c);
    } else if (dtype == QB_U16) {
        unsigned short *words = out;
        for (size_t i = 0; i < count; i++) words[i] = (unsigned short)quantise(values[i], &c);
    } else if (dtype == QB_F16) {
        halve(values, count, out);
    } else if (out != values) {
        memcpy(out, values, count * sizeof *values);
    }
}
