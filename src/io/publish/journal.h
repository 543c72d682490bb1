/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "quickbeam/status.h"

/* A journal of the images of an unfinished output that are on the disk: files in the folder `done` of its hidden folder
 * (staging.h), one per writing process, locked as long as that process lives. Each file begins with its job; then each
 * record is a run of images with a checksum. A record that was cut off does not count. */
typedef struct qb__journal {
    int fd; /* < 0: nothing is recorded */
    uint64_t at;
    size_t images;
    unsigned char *noted; /* a bit for each image */
} qb__journal;

/* Create or continue the file of process `writer`, for a job with so many images; those in `done`, a bit each (NULL:
 * none), are already recorded. Messages name `path`. Close it also after a failure. */
qb_status qb__journal_open(const char *staging, const char *path, int writer, const char *job, size_t images,
                           const unsigned char *done, qb__journal *journal);
/* Record the images of `written` that were not recorded yet. Their data must be on the disk already; the record is on
 * the disk when this returns. */
qb_status qb__journal_note(qb__journal *journal, const char *path, const unsigned char *written);
void qb__journal_close(qb__journal *journal);

/* Read the records of all processes into done[images / 8 + 1]; *job (release with qb__free) is the job that they begin
 * with, NULL if no file is complete. QB_BAD_INPUT for damaged files, QB_BAD_ARGUMENT if one of the processes is
 * alive. */
qb_status qb__journal_read(const char *staging, const char *path, size_t images, char **job, unsigned char *done);
