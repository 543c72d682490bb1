/* SPDX-License-Identifier: MIT */
/* Packed samples of 9 to 15 bits, as written by cameras with 10, 12 and 14 bits, and selection of one of several
 * samples per pixel. */
#include <string.h>

#include "io/tiff/tiff_read.h"

size_t qb__tiff_row_bytes(const qb__tiff_shape *shape) {
    return (shape->columns * shape->samples * shape->bits + 7) / 8;
}

/* Read `bits` bits from bit number `at` on, the most significant first. */
static uint16_t bits_at(const unsigned char *row, size_t at, unsigned bits) {
    uint32_t value = 0;
    for (unsigned have = 0; have < bits;) {
        const unsigned inside = (unsigned)(at % 8), left = 8 - inside, n = left < bits - have ? left : bits - have;
        value = value << n | ((uint32_t)row[at / 8] >> (left - n) & ((1U << n) - 1));
        have += n, at += n;
    }
    return (uint16_t)value;
}

void qb__tiff_unpack(const qb__tiff_shape *shape, const unsigned char *stored, size_t rows, void *out) {
    const size_t row = qb__tiff_row_bytes(shape), size = qb_dtype_size(shape->dtype);
    unsigned char *to = out;
    for (size_t r = 0; r < rows; r++, stored += row)
        for (size_t c = 0; c < shape->columns; c++, to += size) {
            if (shape->bits % 8) {
                const uint16_t value = bits_at(stored, c * shape->samples * shape->bits, shape->bits);
                memcpy(to, &value, sizeof value);
            } else {
                memcpy(to, stored + c * shape->samples * size, size);
            }
        }
}
