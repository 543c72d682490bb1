/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "quickbeam/status.h"

/* A digest of the numbers of a stack of images, gathered while they are read, in any order and also repeatedly: the sum
 * over images and rows, row0 <= row < row1, of the hash of a row in memory, seeded with image * rows + row. */
typedef struct qb__digest {
    size_t rows, row0, row1, bytes; /* rows of an image; range of rows; bytes of a row */
    _Atomic uint64_t *seen;         /* a bit per image and row; NULL: nothing is gathered */
    _Atomic uint64_t sum;
    _Atomic size_t left; /* rows of images that were not read yet */
    /* A scan has a list of digests, one for each job that reads it: */
    struct qb__digest *next;
    int adding; /* calls that are adding to it now */
    bool leaves;
} qb__digest;

/* Rows row0 <= row < row1 of these images are read by another process. */
void qb__digest_except_rows(qb__digest *digest, size_t image0, size_t image1, size_t row0, size_t row1);
/* Start again for rows row0 <= row < row1 of so many images. Does nothing without xxhash. */
qb_status qb__digest_begin(qb__digest *digest, size_t images, size_t rows, size_t row_bytes, size_t row0, size_t row1);
/* Images image0 <= image < image1 are read by another process: they add nothing. Call it before reading. */
void qb__digest_except(qb__digest *digest, size_t image0, size_t image1);
void qb__digest_release(qb__digest *digest);
size_t qb__digest_bytes(size_t images, size_t rows); /* bytes of memory of a digest */
/* Add what was just read, dense [image][row], with at most so many threads. Several callers may do this at once. */
void qb__digest_add(qb__digest *digest, size_t image0, size_t image1, size_t row0, size_t row1, const void *data,
                    size_t threads);
/* Attach and detach a digest: every attached digest gathers what is added to the list, which is NULL at first.
 * Detaching a digest that is not attached does nothing. `apart`: rows in `data` from one image to the next. Any thread
 * may call. */
void qb__digest_attach(qb__digest **list, qb__digest *digest);
void qb__digest_detach(qb__digest **list, qb__digest *digest);
void qb__digests_add(qb__digest **list, size_t image0, size_t image1, size_t row0, size_t row1, const void *data,
                     size_t apart, size_t threads);
/* True if all of it was read. */
bool qb__digest_whole(const qb__digest *digest);
