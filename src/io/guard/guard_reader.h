/* SPDX-License-Identifier: MIT */
#pragma once

#include <sys/types.h>

#include "io/plain/source.h"

#if defined QB_HAVE_HDF5 || defined QB_HAVE_CFITSIO
#define QB__GUARD 1 /* there is a library to guard against */
#endif

/* If a program is set for it (qb_tool_guard), the HDF5 library and cfitsio read no image in this process: another
 * process does, and its crash is only an error. Several threads may use one reader; it answers one at a time. */
typedef struct qb__guard_reader qb__guard_reader;

/* Create a reader of the dataset `path` in `file`. *reader is NULL if no program is set. The process is not started
 * yet. */
qb_status qb__guard_reader_create(const char *file, const char *dataset, qb__guard_reader **reader);
void qb__guard_reader_close(qb__guard_reader *reader); /* NULL-safe */
/* Read images. A row has `row` bytes; image i of the region goes to out + i * image. */
qb_status qb__guard_reader_images(qb__guard_reader *reader, const qb__region *region, size_t row, size_t image,
                                  void *out);

/* Read a chunk as stored, of at most `most` bytes, and the filters that it skips. */
qb_status qb__guard_reader_chunk(qb__guard_reader *reader, const uint64_t at[3], size_t most, void *raw, size_t *bytes,
                                 uint32_t *mask);

/* The messages of the two processes, over a socket that is the reader's standard input and output: a question, then an
 * answer followed by `words` bytes of an error message or `bytes` of numbers. */
typedef struct qb__guard_question {
    uint64_t kind; /* images, or a stored chunk */
    uint64_t first, count, step, row0, row1;
    uint64_t at[3], most;
} qb__guard_question;
enum { QB__GUARD_IMAGES, QB__GUARD_CHUNK };
typedef struct qb__guard_answer {
    int64_t status;
    uint64_t words, bytes;
    uint32_t mask;
} qb__guard_answer;

/* guard.c: QB_BAD_INPUT if the library that reads the file crashes or hangs on it in a separate process. Call it before
 * the library opens the file, and without the lock of HDF5. */
qb_status qb__guard_prove(const char *path, const char *dataset);
bool qb__guarded(void); /* a program is set */
/* Start the program, with a socket or pipe `other` as its input and output. */
qb_status qb__guard_start(const char *path, const char *dataset, const char *task, int other, pid_t *child);
/* Wait for its end, and convert that to a status for the file. In time: it was not given up. */
qb_status qb__guard_end(pid_t child, const char *path, bool in_time);
enum { QB__GUARD_SECONDS = 120 }; /* without an answer */
/* In place of a dataset's name: the file is no HDF5 file but FITS with compressed images (fits_packed.c). */
#define QB__GUARD_PACKED_FITS "packed FITS"
