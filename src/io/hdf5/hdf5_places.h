/* SPDX-License-Identifier: MIT */
#pragma once

/* Only in a build with HDF5. */
#include <hdf5.h>
#include <stddef.h>
#include <stdint.h>

#include "quickbeam/status.h"

/* Where the stored chunks of a dataset are in its file, so that threads read them without the library and its lock.
 * Known for the library's usual form, a tree of version 1; other forms are read by the library. */
typedef struct qb__h5_stored {
    uint64_t at; /* position in the file */
    uint32_t bytes, mask;
} qb__h5_stored;

typedef struct qb__h5_places {
    qb__h5_stored *stored; /* [layer][row][column] of chunks; NULL: not known */
    size_t across, down;
    int fd;
} qb__h5_places;

/* Finds all chunks of a dataset of rank 2 or 3 that has every chunk; call it with the lock. It reports no failure: if
 * anything in the file is not as expected, `stored` is NULL. Chunks of more than `most` bytes are not expected. */
void qb__h5_places_find(hid_t set, int rank, const size_t shape[3], const size_t chunk[3], size_t most,
                        qb__h5_places *places);
void qb__h5_places_release(qb__h5_places *places);

/* hdf5_index.c: the position of a dataset's header, and in the file where the header says where its tree begins. */
uint64_t qb__h5_header(hid_t set);
qb_status qb__h5_index_find(int fd, const char *path, uint64_t header, int rank, uint64_t *at);
uint64_t qb__h5_word(const unsigned char *from, int bytes);
