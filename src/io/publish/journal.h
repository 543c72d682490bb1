/* SPDX-License-Identifier: MIT */
#ifndef QB_IO_JOURNAL_H
#define QB_IO_JOURNAL_H

#include <stddef.h>
#include <stdint.h>

#include "quickbeam/status.h"

/* Which images of an unfinished output are on the disk: files in the folder `done` of its hidden folder (staging.h), one of
 * each process that writes there, which is locked as long as that lives. Each begins with the job that it belongs to;
 * a record behind that is a run of images, with a checksum, and one whose writing was cut short is none. */
typedef struct qb__journal {
    int fd; /* < 0: nothing is noted */
    uint64_t at;
    size_t images;
    unsigned char *noted; /* a bit for each image */
} qb__journal;

/* The file of process `writer`, made or gone on with, of a job of so many images; those in `done`, a bit each (NULL: none),
 * are noted already. Words are about `path`. Close it also after a failure. */
qb_status qb__journal_open(const char *staging, const char *path, int writer, const char *job, size_t images,
                           const unsigned char *done, qb__journal *journal);
/* Of `written` all that was not noted yet; they are on the disk already, and so is the note then. */
qb_status qb__journal_note(qb__journal *journal, const char *path, const unsigned char *written);
void qb__journal_close(qb__journal *journal);

/* What is noted there, by all, into done[images / 8 + 1]; *job, to release with qb__free, is what they begin with, NULL
 * where there is none that is whole. QB_BAD_INPUT for what is damaged, QB_BAD_ARGUMENT when one of them is at work. */
qb_status qb__journal_read(const char *staging, const char *path, size_t images, char **job, unsigned char *done);

#endif
