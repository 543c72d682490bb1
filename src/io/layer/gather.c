/* SPDX-License-Identifier: MIT */
#include "io/layer/gather.h"

#include <stdint.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/memory.h"

void qb__gather(const qb__chunk_images *l, const size_t n[3], size_t row0, size_t column0, char *out) {
    const size_t rows = row0 < l->rows ? qb__smaller(n[1], l->rows - row0) : 0;
    const size_t columns = column0 < l->columns ? qb__smaller(n[2], l->columns - column0) : 0;
    if (l->count < n[0] || rows < n[1] || columns < n[2]) memset(out, 0, n[0] * n[1] * n[2] * l->size);
    for (size_t z = 0; z < l->count; z++)
        for (size_t y = 0; y < rows; y++)
            memcpy(out + (z * n[1] + y) * n[2] * l->size,
                   l->data + z * l->stride + ((row0 + y) * l->columns + column0) * l->size, columns * l->size);
}

static inline void split(const unsigned char *in, size_t count, size_t size, unsigned char *out) {
    for (size_t i = 0; i < count; i++)
        for (size_t b = 0; b < size; b++) out[b * count + i] = in[i * size + b];
}

/* Constant sizes, so that the compiler unrolls the loop. */
void qb__planes(const void *numbers, size_t count, size_t size, unsigned char *out) {
    if (size == 4)
        split(numbers, count, 4, out);
    else if (size == 2)
        split(numbers, count, 2, out);
    else
        split(numbers, count, size, out);
}

void qb__from_planes(const unsigned char *planes, size_t numbers, size_t size, size_t first, size_t count,
                     unsigned char *out) {
    const unsigned char *p = planes + first, *q = p + numbers;
    if (size == 2) {
        for (size_t i = 0; i < count; i++) out[2 * i] = p[i], out[2 * i + 1] = q[i];
    } else if (size == 4) {
        const unsigned char *r = q + numbers, *t = r + numbers;
        for (size_t i = 0; i < count; i++)
            out[4 * i] = p[i], out[4 * i + 1] = q[i], out[4 * i + 2] = r[i], out[4 * i + 3] = t[i];
    } else {
        for (size_t b = 0; b < size; b++)
            for (size_t i = 0; i < count; i++) out[size * i + b] = p[b * numbers + i];
    }
}

void qb__copy_out(void *to, const void *from, size_t bytes) {
#ifdef __SSE2__
    enum { LINE = 64 };
    const char *in = from;
    char *out = to;
    const size_t before = qb__smaller((size_t)(-(uintptr_t)out % LINE), bytes), lines = (bytes - before) / LINE;
    memcpy(out, in, before);
    in += before, out += before;
    for (size_t i = 0; i < lines; i++, in += LINE, out += LINE)
        for (int k = 0; k < LINE; k += 16)
            _mm_stream_si128((__m128i *)(void *)(out + k), _mm_loadu_si128((const __m128i *)(const void *)(in + k)));
    memcpy(out, in, bytes - before - lines * LINE);
#else
    memcpy(to, from, bytes);
#endif
}

void qb__copied_out(void) {
#ifdef __SSE2__
    _mm_sfence();
#endif
}
