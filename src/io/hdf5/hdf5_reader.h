/* SPDX-License-Identifier: MIT */
#ifndef QB_IO_HDF5_READER_H
#define QB_IO_HDF5_READER_H

#include <sys/types.h>

#include "io/plain/source.h"

/* If a program is set for it (qb_tool_hdf5_guard), the HDF5 library reads no image in this process: another process
 * does, and its crash is only an error. Several threads may use one reader; it answers one at a time. */
typedef struct qb__h5_reader qb__h5_reader;

/* Create a reader of the dataset `path` in `file`. *reader is NULL if no program is set. The process is not started
 * yet. */
qb_status qb__h5_reader_create(const char *file, const char *dataset, qb__h5_reader **reader);
void qb__h5_reader_close(qb__h5_reader *reader); /* NULL-safe */
/* Read images. A row has `row` bytes; image i of the region goes to out + i * image. */
qb_status qb__h5_reader_images(qb__h5_reader *reader, const qb__region *region, size_t row, size_t image, void *out);

/* Read a chunk as stored, of at most `most` bytes, and the filters that it skips. */
qb_status qb__h5_reader_chunk(qb__h5_reader *reader, const uint64_t at[3], size_t most, void *raw, size_t *bytes,
                              uint32_t *mask);

/* The messages of the two processes, over a socket that is the reader's standard input and output: a question, then an
 * answer followed by `words` bytes of an error message or `bytes` of numbers. */
typedef struct qb__h5_question {
    uint64_t kind; /* images, or a stored chunk */
    uint64_t first, count, step, row0, row1;
    uint64_t at[3], most;
} qb__h5_question;
enum { QB__H5_IMAGES, QB__H5_CHUNK };
typedef struct qb__h5_answer {
    int64_t status;
    uint64_t words, bytes;
    uint32_t mask;
} qb__h5_answer;

/* hdf5_guard.c: start the program, with a socket or pipe `other` as its input and output. */
bool qb__h5_guarded(void);
qb_status qb__h5_guard_start(const char *path, const char *dataset, const char *task, int other, pid_t *child);
/* Wait for its end, and convert that to a status for the file. In time: it was not given up. */
qb_status qb__h5_guard_end(pid_t child, const char *path, bool in_time);
enum { QB__H5_SECONDS = 120 }; /* without an answer */
/* In place of a dataset's name: the file is no HDF5 file but FITS with compressed images (fits_packed.c). */
#define QB__H5_PACKED_FITS "packed FITS"

#endif
