/* SPDX-License-Identifier: MIT */
#pragma once

#include "io/codec/codec.h"
#include "io/guard/guard_reader.h"
#include "io/hdf5/hdf5.h"
#include "io/hdf5/hdf5_places.h"

/* Chunks of a dataset that our own threads unpack, because HDF5 has one lock: it only delivers stored chunks. Supported
 * are uncompressed chunks, and deflate (gzip), Zstandard, Blosc, LZ4 and bitshuffle with LZ4 if this build has the
 * codec, with or without byte shuffling. HDF5 then needs no plug-in. */
typedef struct qb__h5_chunks {
    qb__codec_kind codec;
    bool shuffle;
    int codec_at, shuffle_at; /* index in the list of filters; a chunk may skip filters */
    size_t bytes;             /* bytes of an unpacked chunk */
    qb__h5_places places;     /* if known, chunks are read from the file */
    qb__guard_reader *reader; /* else a process reads them; NULL: the library in this process */
} qb__h5_chunks;

/* True if all of it can be unpacked here. Call it with the lock. `plist` from H5Dget_create_plist, `size` of a number;
 * the numbers must be stored in our format. */
bool qb__h5_chunks_known(hid_t plist, const size_t chunk[3], size_t size, qb__h5_chunks *chunks);
/* The most bytes that a stored chunk may have. */
size_t qb__h5_chunks_most(const qb__h5_chunks *chunks);
/* Memory per thread while unpacking. */
size_t qb__h5_chunks_memory(const qb__h5_chunks *chunks);
/* As a source's read, without the lock; the dataset has rank `rank`, and all its chunks exist. */
qb_status qb__h5_chunks_read(const qb__h5_chunks *chunks, hid_t set, int rank, const qb__source *source,
                             const qb__region *region, void *out);
