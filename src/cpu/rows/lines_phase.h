/* SPDX-License-Identifier: MIT */
/* Loops of lines.h that convert between numbers and transmissions; included by lines_body.h. */

/* At each call it is known which fields are NULL, so the compiler makes a separate loop for each case. */
static inline __attribute__((always_inline)) void scaled_by(const float *restrict raw, const float *restrict dark,
                                                            const float *restrict gain, size_t count,
                                                            float *restrict out) {
    for (size_t i = 0; i < count; i++) {
        float t = raw[i];
        if (dark) t -= dark[i];
        if (gain) t *= gain[i];
        out[i] = t;
    }
}

static void scaled(const float *raw, const float *dark, const float *gain, size_t count, float *out) {
    if (dark && gain)
        scaled_by(raw, dark, gain, count, out);
    else if (gain)
        scaled_by(raw, NULL, gain, count, out);
    else if (dark)
        scaled_by(raw, dark, NULL, count, out);
    else
        scaled_by(raw, NULL, NULL, count, out);
}

static inline __attribute__((always_inline)) uint64_t seen(const float *restrict raw, const float *restrict dark,
                                                           const float *restrict gain, const float *restrict change,
                                                           const unsigned char *restrict stuck, float top, float most,
                                                           size_t count, float *restrict out) {
    const int32_t full = bits_of(top), highest = bits_of(most);
    int32_t lost = 0;
    for (size_t i = 0; i < count; i++) {
        float t = raw[i];
        int32_t wrong = bits_of(t) >= full;
        if (dark) t -= dark[i];
        if (gain) t *= gain[i], wrong |= bits_of(gain[i]) <= 0;
        if (change) t /= change[i];
        if (stuck) wrong |= stuck[i] != 0;
        wrong |= (bits_of(t) & INT32_MAX) >= highest;
        out[i] = float_of(bits_of(t) | (-wrong & NOT_A_NUMBER));
        lost += wrong;
    }
    return (uint64_t)lost;
}

static uint64_t transmissions(const float *raw, const float *dark, const float *gain, const float *change,
                              const unsigned char *stuck, float top, float most, size_t count, float *out) {
    if (change || stuck) return seen(raw, dark, gain, change, stuck, top, most, count, out);
    if (dark && gain) return seen(raw, dark, gain, NULL, NULL, top, most, count, out);
    if (gain) return seen(raw, NULL, gain, NULL, NULL, top, most, count, out);
    return seen(raw, dark, NULL, NULL, NULL, top, most, count, out);
}

static inline __attribute__((always_inline)) void back(const float *restrict t, const float *restrict dark,
                                                       const float *restrict flat, const float *restrict change,
                                                       size_t count, float *restrict out) {
    for (size_t i = 0; i < count; i++) {
        float n = t[i];
        if (change) n *= change[i];
        if (flat) n *= dark ? flat[i] - dark[i] : flat[i];
        out[i] = dark ? n + dark[i] : n;
    }
}

static void numbers(const float *t, const float *dark, const float *flat, const float *change, size_t count,
                    float *out) {
    if (change)
        back(t, dark, flat, change, count, out);
    else if (dark && flat)
        back(t, dark, flat, NULL, count, out);
    else
        back(t, dark, flat, NULL, count, out);
}
