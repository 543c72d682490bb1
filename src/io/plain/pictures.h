/* SPDX-License-Identifier: MIT */
#ifndef QB_IO_PICTURES_H
#define QB_IO_PICTURES_H

#include "io/formats.h"

/* What the head of a picture says. All files of a series say the same. */
typedef struct qb__picture {
    size_t columns, rows, channels;
    int bits, how; /* how: the format's own */
    bool negative; /* numbers may be below 0 */
} qb__picture;

/* Files of one picture each, that a library unpacks. */
typedef struct qb__picture_kind {
    const char *format, *extensions;
    double densest; /* bits of pixels that one byte of a file may stand for */
    /* The head of a file. */
    qb_status (*head)(const char *path, qb__picture *picture);
    /* The first channel of rows row0 <= row < row1, in 8 or 16 bits, dense. */
    qb_status (*read)(const char *path, const qb__picture *picture, size_t row0, size_t row1, void *out);
} qb__picture_kind;

qb_status qb__pictures_open(const qb__picture_kind *kind, const char *path, qb__source **source);
/* QB_BAD_INPUT where sides, bits or channels are none of a picture. */
qb_status qb__picture_check(const char *path, const qb__picture *picture);

#endif
