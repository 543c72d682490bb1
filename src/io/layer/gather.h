/* SPDX-License-Identifier: MIT */
#ifndef QB_IO_LAYER_GATHER_H
#define QB_IO_LAYER_GATHER_H

#include <stddef.h>

/* Images of a layer, `stride` bytes apart, of rows x columns numbers of `size` bytes. */
typedef struct qb__images {
    const char *data;
    size_t stride, count, rows, columns, size;
} qb__images;

/* The numbers of a chunk that begins at a row and a column; zeros where the images end. */
void qb__gather(const qb__images *images, const size_t chunk[3], size_t row0, size_t column0, char *out);
/* Bytes in planes, as HDF5's shuffle filter lays them: the first of all numbers, then the second of all, ... */
void qb__planes(const void *numbers, size_t count, size_t size, unsigned char *out);

/* Numbers first..first + count - 1 of those planes of `numbers` each. */
void qb__from_planes(const unsigned char *planes, size_t numbers, size_t size, size_t first, size_t count,
                     unsigned char *out);

#endif
