/* SPDX-License-Identifier: MIT */
#ifndef QB_IO_ZEISS_IMAGES_H
#define QB_IO_ZEISS_IMAGES_H

#include "io/plain/source.h"
#include "io/vendor/ole2.h"

/* Streams FOLDER<hundred>/Image<number>, FOLDER/Image<number> or FOLDER/Image; all are images of one size and type. */
typedef struct qb__zeiss_images {
    const char *folder;
    bool hundreds, numbered;
    size_t count, rows, columns;
    qb_dtype dtype;
} qb__zeiss_images;

qb_status qb__zeiss_source(const qb__ole2 *ole, const char *path, const qb__zeiss_images *images, qb__source **source);

#endif
