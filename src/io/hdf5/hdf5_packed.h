/* SPDX-License-Identifier: MIT */
#ifndef QB_IO_HDF5_PACKED_H
#define QB_IO_HDF5_PACKED_H

/* Inside a build with HDF5 only. */
#include <hdf5.h>

#include "io/codec/codec.h"
#include "io/layer/spool.h"
#include "io/writer.h"

/* A volume in compressed chunks. HDF5 makes the file without any chunk and closes it. Our threads pack chunks and append them to the
 * file; where each lies is noted in a file of its own. In the end the dataset gets its index (hdf5_index.c). Until then the file is
 * as HDF5 left it, with more behind its end, so a run that is killed can be gone on with. */
typedef struct qb__h5_packed {
    qb__codec_kind codec;
    bool shuffle;                  /* bytes in planes before the codec */
    size_t chunk[3], down, across; /* numbers of a chunk along z, y, x; chunks of a layer */
    char *folder;                  /* in the staging folder: images that wait and the list of chunks */
    qb__spool spool;
    int list;      /* a qb__h5_place of each chunk */
    uint64_t tail; /* the next chunk goes there */
    bool joined;   /* another process packs */
} qb__h5_packed;

typedef struct qb__h5_place {
    uint64_t at, bytes;
} qb__h5_place;

/* Its codec and chunks; nothing is made. */
qb_status qb__h5_packed_plan(const qb_stack *stack, qb__h5_packed *packed);
/* What makes a dataset such; with the lock. Close it. */
hid_t qb__h5_packed_layout(const qb__h5_packed *packed, qb_dtype dtype);
/* Images that wait and the list of chunks: made, or as the stopped run left them. The HDF5 file is there. */
qb_status qb__h5_packed_open(qb_writer *writer, qb__h5_packed *packed);
/* The same in another process, which only leaves images there. */
qb_status qb__h5_packed_join(qb_writer *writer, qb__h5_packed *packed, const qb__writer_location *place);
qb_status qb__h5_packed_write(qb_writer *writer, qb__h5_packed *packed, size_t first, size_t end, const void *data);
/* All chunks are there, and the dataset has them. Until qb__h5_packed_index nothing of the file's beginning changes. */
qb_status qb__h5_packed_finish(qb_writer *writer, qb__h5_packed *packed);
qb_status qb__h5_packed_index(qb_writer *writer, qb__h5_packed *packed);
/* Where the header of the dataset lies in the file that HDF5 has closed, and how many chunks HDF5 finds. */
qb_status qb__h5_packed_header(const qb_writer *writer, uint64_t *header, uint64_t *chunks);
void qb__h5_packed_release(qb__h5_packed *packed);
static inline size_t qb__h5_packed_chunks(const qb__h5_packed *packed) {
    return packed->spool.layers * packed->down * packed->across;
}
/* What each thread of a write holds. */
size_t qb__h5_packed_memory(const qb__h5_packed *packed, qb_dtype dtype);

/* hdf5_index.c: give the dataset its chunks, of which `list` has the places in order. */
qb_status qb__h5_index_put(int fd, const char *path, uint64_t header, const qb__h5_packed *packed);
/* Whether such a dataset is made as the index needs it. `header`: where the dataset's header lies. */
qb_status qb__h5_index_check(int fd, const char *path, uint64_t header);

#endif
