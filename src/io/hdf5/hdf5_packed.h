/* SPDX-License-Identifier: MIT */
#pragma once

/* Only in a build with HDF5. */
#include <hdf5.h>

#include "io/codec/codec.h"
#include "io/layer/spool.h"
#include "io/writer.h"

/* A volume in compressed chunks. HDF5 creates the file without chunks and closes it. Our threads pack chunks and append
 * them to the file; their positions are recorded in a file of its own. At the end the dataset gets its index
 * (hdf5_index.c). Until then the file is as HDF5 left it, with more data after its end, so that a killed run can be
 * resumed. */
typedef struct qb__h5_packed {
    qb__codec_kind codec;
    bool shuffle;                  /* bytes are shuffled before the codec */
    size_t chunk[3], down, across; /* size of a chunk along z, y, x; chunks of a layer */
    char *folder;                  /* folder within the staging folder: waiting images and the list of chunks */
    qb__spool spool;
    int list;      /* file with a qb__h5_place for each chunk */
    uint64_t tail; /* position of the next chunk */
    bool joined;   /* another process packs */
    char *memory;  /* of `threads` threads, from the first layer on */
    size_t threads;
} qb__h5_packed;

typedef struct qb__h5_place {
    uint64_t at, bytes;
} qb__h5_place;

/* Decide codec and chunks; creates nothing. */
qb_status qb__h5_packed_plan(const qb_stack *stack, qb__h5_packed *packed);
/* The creation list of such a dataset; with the lock. Close it. */
hid_t qb__h5_packed_layout(const qb__h5_packed *packed, qb_dtype dtype);
/* Create the temporary files, or open those of the stopped run. The HDF5 file exists. */
qb_status qb__h5_packed_open(qb_writer *writer, qb__h5_packed *packed);
/* The same in another process, which only stores images there. */
qb_status qb__h5_packed_join(qb_writer *writer, qb__h5_packed *packed, const qb__writer_location *place);
qb_status qb__h5_packed_write(qb_writer *writer, qb__h5_packed *packed, size_t first, size_t end, const void *data);
/* Finish: all chunks exist, and the dataset gets them. Until qb__h5_packed_index the beginning of the file does not
 * change. */
qb_status qb__h5_packed_finish(qb_writer *writer, qb__h5_packed *packed);
qb_status qb__h5_packed_index(qb_writer *writer, qb__h5_packed *packed);
/* Find the dataset's header in the file that HDF5 has closed, and the number of chunks that HDF5 finds. */
qb_status qb__h5_packed_header(const qb_writer *writer, uint64_t *header, uint64_t *chunks);
void qb__h5_packed_release(qb__h5_packed *packed);
static inline size_t qb__h5_packed_chunks(const qb__h5_packed *packed) {
    return packed->spool.layers * packed->down * packed->across;
}
/* Memory per thread while writing. */
size_t qb__h5_packed_memory(const qb__h5_packed *packed, qb_dtype dtype);

/* hdf5_index.c: give the dataset its chunks, whose positions are in `list` in order. */
qb_status qb__h5_index_put(int fd, const char *path, uint64_t header, const qb__h5_packed *packed);
