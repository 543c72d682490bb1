/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>

/* Images of a layer, `stride` bytes apart, of rows x columns numbers of `size` bytes. */
typedef struct qb__chunk_images {
    const char *data;
    size_t stride, count, rows, columns, size;
} qb__chunk_images;

/* The numbers of a chunk from a row and a column on; zeros beyond the images. */
void qb__gather(const qb__chunk_images *images, const size_t chunk[3], size_t row0, size_t column0, char *out);
/* Copies to memory that is not read soon: past the caches, where the processor has such stores. Call qb__copied_out()
 * before other threads read it. */
void qb__copy_out(void *to, const void *from, size_t bytes);
void qb__copied_out(void);
/* Byte shuffling, as in HDF5's shuffle filter: the first bytes of all numbers, then the second bytes of all, ... */
void qb__planes(const void *numbers, size_t count, size_t size, unsigned char *out);

/* Numbers first..first + count - 1 of shuffled data with `numbers` in total. */
void qb__from_planes(const unsigned char *planes, size_t numbers, size_t size, size_t first, size_t count,
                     unsigned char *out);
