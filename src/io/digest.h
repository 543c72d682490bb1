/* SPDX-License-Identifier: MIT */
#ifndef QB_IO_DIGEST_H
#define QB_IO_DIGEST_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "quickbeam/status.h"

/* What tells the numbers of a stack of images from other numbers, gathered while they are read, in whatever
 * order and however often: the sum over images and rows, row0 <= row < row1, of the hash of a row's numbers
 * as they are in memory, seeded with image * rows + row. */
typedef struct qb__digest {
    size_t rows, row0, row1, bytes; /* rows of an image, range of rows, bytes of a row */
    _Atomic uint64_t *seen;         /* a bit for each image and row; NULL: nothing is gathered */
    _Atomic uint64_t sum;
    _Atomic size_t left; /* rows of images that were not read yet */
    /* A scan has a list of digests, one for each job that reads it: */
    struct qb__digest *next;
    int adding; /* calls that add to it just now */
    bool leaves;
} qb__digest;

/* Rows row0 <= row < row1 of these images are another's to read. */
void qb__digest_except_rows(qb__digest *digest, size_t image0, size_t image1, size_t row0, size_t row1);
/* From now on rows row0 <= row < row1 of so many images count, as if nothing had been read. Without xxhash:
 * nothing does. */
qb_status qb__digest_begin(qb__digest *digest, size_t images, size_t rows, size_t row_bytes, size_t row0, size_t row1);
/* Images image0 <= image < image1 are another's: they add nothing, and nothing of them is left. Before anything is read. */
void qb__digest_except(qb__digest *digest, size_t image0, size_t image1);
void qb__digest_release(qb__digest *digest);
size_t qb__digest_bytes(size_t images, size_t rows); /* bytes of a digest */
/* What was just read, [image][row] without gaps, on at most so many threads. Any number of callers at once. */
void qb__digest_add(qb__digest *digest, size_t image0, size_t image1, size_t row0, size_t row1, const void *data,
                    size_t threads);
/* Every attached digest gathers what is added to the list, which begins as NULL. Detaching a digest that is not attached does nothing.
 * Any thread may call. */
void qb__digest_attach(qb__digest **list, qb__digest *digest);
void qb__digest_detach(qb__digest **list, qb__digest *digest);
void qb__digests_add(qb__digest **list, size_t image0, size_t image1, size_t row0, size_t row1, const void *data,
                     size_t threads);
/* Was all of it read? */
bool qb__digest_whole(const qb__digest *digest);

#endif
