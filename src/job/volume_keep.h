/* SPDX-License-Identifier: MIT */
#ifndef QB_JOB_VOLUME_KEEP_H
#define QB_JOB_VOLUME_KEEP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/comm.h"
#include "io/publish/journal.h"
#include "quickbeam/io.h"

/* What of a volume is kept for a run that is to go on where this one was killed or failed: its hidden folder, with a note
 * in it (io/publish/journal.h) of the images that are on the disk, now and then. Nothing is noted, and nothing stays of a run that
 * fails, before the first time. */
typedef struct qb__keep {
    bool resume;  /* go on with what there is */
    double every; /* seconds between two notes; 0 = none */
    /* What must be the same for another run to resume, as JSON. Called once, when needed. Release with cJSON_free. */
    qb_status (*tell)(void *self, char **job);
    void *self;
    const char *path; /* for messages */
    size_t images;
    /* while it is open */
    const qb_env *env;
    qb__comm *comm; /* NULL = none */
    qb_writer *writer;
    char *job, *folder;  /* the hidden one */
    uint64_t whose;      /* hash of rank 0's job when it was looked at */
    unsigned char *done; /* images that were found done, a bit each; NULL: none */
    qb__journal journal;
    double saved; /* when it was last noted, or the run began */
} qb__keep;

/* The keep's, at rank 0: what is done in the hidden folder of a run that is over, which is taken up. QB_BAD_ARGUMENT for another job's, naming
 * what differs, QB_BAD_INPUT for what is damaged. */
qb_status qb__keep_look(void *keep, const char *folder);
/* On all ranks, once the file is open, or has failed to be: what was found goes to all. The writer stays the caller's. Close it also
 * after a failure. */
qb_status qb__keep_open(qb__keep *keep, qb__comm *comm, qb_writer *writer, qb_status status, const qb_env *env);
/* Something was written; from one thread at a time. Fails when the disk does not take what was written before. */
qb_status qb__keep_note(qb__keep *keep);
void qb__keep_close(qb__keep *keep);
/* Before the first chunk: what computes may be another engine since what there is was looked at, and not the same on all ranks.
 * QB_BAD_ARGUMENT where it would not go on with the same job. */
qb_status qb__keep_still(qb__keep *keep);
/* Are images first .. end - 1 done? None: yes. */
bool qb__keep_has(const qb__keep *keep, size_t first, size_t end);

#endif
