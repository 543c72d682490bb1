/* SPDX-License-Identifier: MIT */
#include "io/tiff/tiff_write.h"

#include <math.h>
#include <string.h>

/* The TIFF 6.0 tags and types that we write. */
enum { SHORT = 3, LONG = 4, ASCII = 2, RATIONAL = 5, LONG8 = 16 };
enum {
    WIDTH = 256,
    LENGTH = 257,
    BITS = 258,
    COMPRESSION = 259,
    PHOTOMETRIC = 262,
    DESCRIPTION = 270,
    STRIP_OFFSETS = 273,
    SAMPLES = 277,
    ROWS_PER_STRIP = 278,
    STRIP_BYTES = 279,
    X_RESOLUTION = 282,
    Y_RESOLUTION = 283,
    RESOLUTION_UNIT = 296,
    SAMPLE_FORMAT = 339,
};

/* Write little-endian numbers, one after the other. */
static unsigned char *put(unsigned char *at, uint64_t value, int bytes) {
    for (int i = 0; i < bytes; i++) *at++ = (unsigned char)(value >> (8 * i));
    return at;
}

size_t qb__tiff_header(const qb__tiff_layout *layout, uint64_t directory, unsigned char out[16]) {
    unsigned char *at = put(out, 0x4949, 2);
    at = put(at, layout->big ? 43 : 42, 2);
    if (layout->big) at = put(put(at, 8, 2), 0, 2);
    return (size_t)(put(at, directory, layout->big ? 8 : 4) - out);
}

typedef struct entries {
    unsigned char *at;
    int wide, count; /* bytes of an offset */
} entries;

static void add(entries *e, unsigned tag, unsigned type, uint64_t count, uint64_t value) {
    int bytes = type == SHORT && count == 1 ? 2 : type == LONG && count == 1 ? 4 : e->wide;
    e->at = put(put(put(e->at, tag, 2), type, 2), count, e->wide);
    memset(e->at, 0, (size_t)e->wide);
    put(e->at, value, bytes);
    e->at += e->wide;
    e->count++;
}

static unsigned sample_format(qb_dtype dtype) {
    if (qb_dtype_is_float(dtype)) return 3;
    return dtype == QB_I8 || dtype == QB_I16 || dtype == QB_I32 ? 2 : 1;
}

/* Pixels per millimetre, with as many decimals as 32 bits hold. ImageJ's lines in the description name the unit; TIFF's
 * own unit (inch or centimetre) is left open, because ImageJ would apply both. */
static void resolution(double pixel, uint32_t *number, uint32_t *over) {
    double per_mm = 1.0 / pixel;
    *over = 1;
    while (*over < 1000000 && per_mm * *over * 10.0 < 4e9) *over *= 10;
    *number = (uint32_t)fmin(per_mm * *over + 0.5, 4294967295.0);
}

size_t qb__tiff_directory(const qb__tiff_layout *layout, uint64_t at, uint64_t data, uint64_t text, size_t length,
                          uint64_t next, unsigned char out[QB__TIFF_IFD_MOST]) {
    int wide = layout->big ? 8 : 4, head = layout->big ? 8 : 2;
    unsigned offset = layout->big ? LONG8 : LONG;
    uint32_t number = 0, over = 1;
    uint64_t bytes = (uint64_t)layout->rows * layout->columns * qb_dtype_size(layout->dtype);
    bool scaled = layout->pixel > 0.0;
    size_t total = qb__tiff_directory_bytes(layout, length);
    uint64_t ratio = at + total - 8; /* the resolution follows the entries */
    entries e = {out + head, wide, 0};
    add(&e, WIDTH, LONG, 1, layout->columns);
    add(&e, LENGTH, LONG, 1, layout->rows);
    add(&e, BITS, SHORT, 1, 8 * qb_dtype_size(layout->dtype));
    add(&e, COMPRESSION, SHORT, 1, 1);
    add(&e, PHOTOMETRIC, SHORT, 1, 1);
    if (length) add(&e, DESCRIPTION, ASCII, length, text);
    add(&e, STRIP_OFFSETS, offset, 1, data);
    add(&e, SAMPLES, SHORT, 1, 1);
    add(&e, ROWS_PER_STRIP, LONG, 1, layout->rows);
    add(&e, STRIP_BYTES, offset, 1, bytes);
    if (scaled) resolution(layout->pixel, &number, &over);
    uint64_t inlined = scaled ? number | (uint64_t)over << 32 : 0;
    if (scaled) add(&e, X_RESOLUTION, RATIONAL, 1, layout->big ? inlined : ratio);
    if (scaled) add(&e, Y_RESOLUTION, RATIONAL, 1, layout->big ? inlined : ratio);
    if (scaled) add(&e, RESOLUTION_UNIT, SHORT, 1, 1);
    add(&e, SAMPLE_FORMAT, SHORT, 1, sample_format(layout->dtype));
    put(out, (uint64_t)e.count, head);
    e.at = put(e.at, next, wide);
    if (scaled && !layout->big) e.at = put(e.at, inlined, 8);
    return (size_t)(e.at - out);
}

size_t qb__tiff_directory_bytes(const qb__tiff_layout *layout, size_t length) {
    size_t count = 10 + (length > 0) + (layout->pixel > 0.0 ? 3 : 0);
    size_t bytes = layout->big ? 8 + 20 * count + 8 : 2 + 12 * count + 4;
    return bytes + (layout->pixel > 0.0 && !layout->big ? 8 : 0);
}
