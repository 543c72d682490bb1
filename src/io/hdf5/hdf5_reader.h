/* SPDX-License-Identifier: MIT */
#ifndef QB_IO_HDF5_READER_H
#define QB_IO_HDF5_READER_H

#include <sys/types.h>

#include "io/plain/source.h"

/* Where a program is named for it (qb_tool_hdf5_guard), no image is read by the HDF5 library in this process: another one
 * reads, and its death is only an error. Any number of threads may use one reader; it answers one at a time. */
typedef struct qb__h5_reader qb__h5_reader;

/* Make a reader of a dataset at its path in `file`. *reader is NULL if no program is named. The process is not started yet. */
qb_status qb__h5_reader_create(const char *file, const char *dataset, qb__h5_reader **reader);
void qb__h5_reader_close(qb__h5_reader *reader); /* NULL-safe */
/* `row` bytes are in a row; image i of the region goes to out + i * image. */
qb_status qb__h5_reader_images(qb__h5_reader *reader, const qb__region *region, size_t row, size_t image, void *out);

/* A chunk as it is stored, of at most `most` bytes, and the filters that were left out. */
qb_status qb__h5_reader_chunk(qb__h5_reader *reader, const uint64_t at[3], size_t most, void *raw, size_t *bytes,
                              uint32_t *mask);

/* What the two processes say to each other, over a socket that is the reader's standard input and output: a question,
 * then an answer with `words` bytes of an error's text or `bytes` of numbers behind it. */
typedef struct qb__h5_question {
    uint64_t kind; /* images, or a chunk as it is stored */
    uint64_t first, count, step, row0, row1;
    uint64_t at[3], most;
} qb__h5_question;
enum { QB__H5_IMAGES, QB__H5_CHUNK };
typedef struct qb__h5_answer {
    int64_t status;
    uint64_t words, bytes;
    uint32_t mask;
} qb__h5_answer;

/* hdf5_guard.c: the named program, started with a socket or pipe `other` as its input and output. */
bool qb__h5_guarded(void);
qb_status qb__h5_guard_start(const char *path, const char *dataset, const char *task, int other, pid_t *child);
/* Waits for its end, and says what that means for the file. In time: it was not given up. */
qb_status qb__h5_guard_end(pid_t child, const char *path, bool in_time);
enum { QB__H5_SECONDS = 120 }; /* without a sign of life */

#endif
