/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/comm.h"
#include "io/publish/journal.h"
#include "quickbeam/io.h"

/* Checkpoints of a volume for --resume: the hidden folder of the output, and a journal in it (io/publish/journal.h)
 * that lists from time to time the images that are on the disk. Before the first checkpoint nothing is noted, and a run
 * that fails then leaves nothing. */
typedef struct qb__keep {
    bool resume;  /* continue with the images of an earlier run */
    double every; /* seconds between two checkpoints; 0 = none */
    /* The data that must be equal for a run to resume, as JSON. Called once, when needed. Release with cJSON_free. */
    qb_status (*tell)(void *self, char **job);
    void *self;
    const char *path; /* path of the output, for messages */
    size_t images;
    /* valid while it is open */
    const qb_env *env;
    qb__comm *comm; /* NULL = none */
    qb_writer *writer;
    char *job, *folder;  /* the job as JSON; the hidden folder */
    uint64_t whose;      /* hash of rank 0's job when the state was read */
    unsigned char *done; /* bit for each image that an earlier run has finished; NULL: none */
    qb__journal journal;
    double saved; /* time of the last checkpoint, or of the start */
} qb__keep;

/* On rank 0: find the images that an earlier run finished in the hidden folder. QB_BAD_ARGUMENT for another job, with
 * the difference; QB_BAD_INPUT for a damaged folder. */
qb_status qb__keep_look(void *keep, const char *folder);
/* Collective, after the file was opened or failed to open: distributes what was found. The writer stays the caller's.
 * Close it also after a failure. */
qb_status qb__keep_open(qb__keep *keep, qb__comm *comm, qb_writer *writer, qb_status status, const qb_env *env);
/* Call it after each write, from one thread at a time. Fails if an earlier write did not reach the disk. */
qb_status qb__keep_note(qb__keep *keep);
void qb__keep_close(qb__keep *keep);
/* Call before the first chunk: the engine may have changed since the state was read, and may differ between ranks.
 * QB_BAD_ARGUMENT if it would not continue the same job. */
qb_status qb__keep_still(qb__keep *keep);
/* True if images first .. end - 1 are all done; also true for an empty range. */
bool qb__keep_has(const qb__keep *keep, size_t first, size_t end);
