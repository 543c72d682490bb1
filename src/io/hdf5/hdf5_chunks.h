/* SPDX-License-Identifier: MIT */
#ifndef QB_IO_HDF5_CHUNKS_H
#define QB_IO_HDF5_CHUNKS_H

#include "io/codec/codec.h"
#include "io/hdf5/hdf5.h"
#include "io/hdf5/hdf5_reader.h"

/* Chunks of a dataset that are unpacked by our own threads: HDF5, which has one lock, only hands over what
 * is stored. Known are chunks as they are, and deflate (gzip), Zstandard, Blosc, LZ4 and bitshuffle with LZ4 where this build has
 * the codec; and byte shuffling before them. HDF5 needs no plug-in for them then. */
typedef struct qb__h5_chunks {
    qb__codec_kind codec;
    bool shuffle;
    int codec_at, shuffle_at; /* index in the list of filters; a chunk may skip single filters */
    size_t bytes;             /* bytes of an unpacked chunk */
    qb__h5_reader *reader;    /* process that reads stored chunks; NULL: the library in this process */
} qb__h5_chunks;

/* Can we unpack all of it? With the lock. `plist` as H5Dget_create_plist gives it, `size` of a number; the
 * stored numbers are as ours. */
bool qb__h5_chunks_known(hid_t plist, const size_t chunk[3], size_t size, qb__h5_chunks *chunks);
/* What each thread holds while it unpacks. */
size_t qb__h5_chunks_memory(const qb__h5_chunks *chunks);
/* As a source's read, without the lock; the dataset is of rank `rank`, and no chunk of it is missing. */
qb_status qb__h5_chunks_read(const qb__h5_chunks *chunks, hid_t set, int rank, const qb__source *source,
                             const qb__region *region, void *out);

#endif
