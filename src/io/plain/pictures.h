/* SPDX-License-Identifier: MIT */
#pragma once

#include "io/formats.h"

/* Contents of the head of a picture; all files of a series must have the same. */
typedef struct qb__picture {
    size_t columns, rows, channels;
    int bits, how; /* bits of a number; how: a property of the format's own */
    bool negative; /* numbers may be below 0 */
} qb__picture;

/* A kind of files with one picture each, which a library unpacks. */
typedef struct qb__picture_kind {
    const char *format, *extensions;
    double densest; /* largest number of bits of pixels for which one byte of a file may stand */
    /* Read the head of a file. */
    qb_status (*head)(const char *path, qb__picture *picture);
    /* Read the first channel of rows row0 <= row < row1, as 8 or 16 bits, without gaps. */
    qb_status (*read)(const char *path, const qb__picture *picture, size_t row0, size_t row1, void *out);
} qb__picture_kind;

qb_status qb__pictures_open(const qb__picture_kind *kind, const char *path, qb__source **source);
/* QB_BAD_INPUT if the sides, bits or channels are not those of a picture. */
qb_status qb__picture_check(const char *path, const qb__picture *picture);
