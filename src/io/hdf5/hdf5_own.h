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

/* One HDF5 volume in N files: a single file is limited to a few GB/s for any number of threads, one file per thread
 * reaches many times that. NAME.h5 is small; its /exchange/data is a virtual dataset of NAME.h5.parts/00.h5, 01.h5,
 * ..., with image i as number i / N of part i % N, so that neighbouring images are in different files. Folder and file
 * are published together. */
typedef struct qb__h5_parts {
    size_t count;
    int *fd;          /* [count] */
    uint64_t *offset; /* [count] position of the images in each file */
    char *folder;     /* NAME.h5.parts as NAME.h5 refers to it: without the folder before it */
    /* the folder until publication: `parts` in the hidden folder of the file (staging.h), which can be resumed with it;
     * on another disk a separate hidden folder */
    char *fresh;
    bool staged; /* the former */
    /* QB__H5_ID: identity of the volume, stored in its file and in each part, so that they cannot be mixed up */
    char id[40];
} qb__h5_parts;

/* Create the folder, as one of the writer's set, and its files without images. QB_BAD_ARGUMENT if an existing folder
 * holds files that would stay among the new parts. Release also after a failure. */
qb_status qb__h5_parts_begin(qb_writer *writer, qb__h5_parts *parts);
/* Open the existing parts in another process. */
void qb__h5_parts_locate(const qb__h5_parts *parts, qb__writer_location *place);
qb_status qb__h5_parts_join(qb__h5_parts *parts, const qb__writer_location *place);
qb_status qb__h5_parts_write(const qb_writer *writer, const qb__h5_parts *parts, size_t first, size_t end,
                             const void *data);
/* Resume with the parts of a stopped run. QB_BAD_INPUT if they belong to another stack. */
qb_status qb__h5_parts_resume(qb_writer *writer, qb__h5_parts *parts);
/* Sync the parts to the disk and close them. */
qb_status qb__h5_parts_finish(qb_writer *writer, qb__h5_parts *parts);
/* Move the parts into the folder that is published with the set. */
qb_status qb__h5_parts_move(qb_writer *writer, qb__h5_parts *parts);
void qb__h5_parts_release(qb__h5_parts *parts);
/* The creation list of a dataset of the stack's shape made of those files; with the lock. Close it. */
hid_t qb__h5_parts_layout(const qb__h5_parts *parts, const qb_stack *stack, hid_t type);

/* State of an HDF5 writer: at most one of these members. */
typedef struct qb__h5_own {
    qb__h5_parts *parts;
    qb__h5_packed *packed;
} qb__h5_own;

static inline qb__h5_parts *qb__h5_parts_of(const qb_writer *writer) {
    const qb__h5_own *own = writer->own;
    return own ? own->parts : NULL;
}

static inline qb__h5_packed *qb__h5_packed_of(const qb_writer *writer) {
    const qb__h5_own *own = writer->own;
    return own ? own->packed : NULL;
}

/* Helpers of the file's writer (hdf5_put.c, hdf5_fill.c); with the lock, except the first. */
qb_status qb__h5_reserve(int fd, const char *path, uint64_t images, uint64_t room);
bool qb__h5_put_text(hid_t object, const char *name, const char *text);
bool qb__h5_put_string(hid_t file, const char *path, const char *text); /* a dataset */
/* Write everything except the provenance; the images' dataset is empty. `degrees`: of the views, or NULL. */
bool qb__h5_fill(hid_t file, qb_writer *writer, const double *degrees);
bool qb__h5_put_number(hid_t object, const char *name, double number);
/* A new dataset, with data or with space for them; negative on failure. `layout` is its creation list, or H5P_DEFAULT:
 * allocated at once, without fill values. */
hid_t qb__h5_make_set(hid_t file, const char *path, hid_t type, int rank, const size_t *shape, const void *data,
                      hid_t layout);
