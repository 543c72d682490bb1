/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdint.h>

#include "quickbeam/io.h"

/* Writes uncompressed grey-level TIFF without a library: a header, images in one piece each, and then a directory of a
 * few numbers per image. */
typedef struct qb__tiff_layout {
    bool big; /* BigTIFF: 64-bit offsets */
    qb_dtype dtype;
    size_t rows, columns;
    double pixel; /* mm, 0 = unknown */
} qb__tiff_layout;

enum { QB__TIFF_DATA = 64, QB__TIFF_IFD_MOST = 512 };

/* The first 16 bytes of a file whose first directory is at `directory`. */
size_t qb__tiff_header(const qb__tiff_layout *layout, uint64_t directory, unsigned char out[16]);
/* The directory, at `at`, of the image at `data`; the next one is at `next` (0: last). The description of `length`
 * bytes, with its 0, is at `text`; length 0: none. */
size_t qb__tiff_directory(const qb__tiff_layout *layout, uint64_t at, uint64_t data, uint64_t text, size_t length,
                          uint64_t next, unsigned char out[QB__TIFF_IFD_MOST]);
/* Bytes of qb__tiff_directory. */
size_t qb__tiff_directory_bytes(const qb__tiff_layout *layout, size_t length);
