/* SPDX-License-Identifier: MIT */
#pragma once

#include "io/plain/source.h"
#include "io/vendor/ole2.h"

/* Streams FOLDER<hundred>/Image<number>, FOLDER/Image<number> or FOLDER/Image; all images have one size and type. */
typedef struct qb__zeiss_images {
    const char *folder;
    bool hundreds, numbered;
    bool series; /* one image in each file of a folder or pattern; `count` is set */
    size_t count, rows, columns;
    qb_dtype dtype;
} qb__zeiss_images;

qb_status qb__zeiss_source(const qb__ole2 *ole, const char *path, qb__zeiss_images *images, qb__source **source);
/* The files of a series. */
const qb__notes *qb__zeiss_files(const qb__source *source);
