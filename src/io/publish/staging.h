/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "quickbeam/status.h"

/* A hidden folder on the output's disk, in which the output is made until it is complete:
 *   new    what will get the name: a file, or a folder of files
 *   parts  files that will be a folder next to it, until the new is complete (hdf5_parts.c)
 *   packed images and lists for a compressed file until it is complete (hdf5_packed.c)
 *   old    the previous owner of the name, until the exchange is finished
 *   lock   locked as long as the process lives that works here
 *   set    list of what belongs together (publication.c), only during the exchange of names
 *   done   journal of what is on the disk (journal.h), so that another run can resume
 *   first  instead of `set`, a link to the hidden folder that has it
 * Its name is .NAME.part-TAG and it lies next to the output. For files that join a folder it lies inside, and NAME is
 * their label there, which keeps several series in one folder apart: .s_%d.tif.part-TAG. */
typedef enum qb__staging_kind {
    QB__STAGING_FILE = 'f',    /* new is a file that replaces a file */
    QB__STAGING_FOLDER = 'd',  /* new is a folder that does not exist yet */
    QB__STAGING_STORE = 's',   /* new is a folder that replaces another one as a whole */
    QB__STAGING_MEMBERS = 'm', /* the files in the folder new join an existing folder */
} qb__staging_kind;

typedef struct qb__staging {
    qb__staging_kind kind;
    char *folder, *target, *fresh, *old; /* the hidden folder; the final name; FOLDER/new; FOLDER/old */
    int lock;
} qb__staging;

/* Create one for a name; `target` from qb__target_of, `label` of files that join a folder, NULL = quickbeam. Release it
 * also after a failure. */
qb_status qb__staging_make(qb__staging_kind kind, const char *target, const char *label, qb__staging *staging);
/* Lock the staging folder that an ended run left for the same name with finished parts. lock < 0: there is none.
 * QB_BAD_ARGUMENT if that run is alive. Release it also after a failure. */
qb_status qb__staging_resume(qb__staging_kind kind, const char *target, const char *label, qb__staging *staging);
/* True if the folder has finished parts of a new output. */
bool qb__staging_kept(const char *folder);
/* From now on another run cannot resume it. `fresh` is FOLDER/new. */
void qb__staging_forget(const char *fresh);
/* Prefix of the names of staging folders for that name; release with qb__free. QB_NO_MEMORY. */
qb_status qb__staging_prefix(qb__staging_kind kind, const char *target, const char *label, char **prefix);
/* Fill in the paths from the hidden folder's and the target's, for a kind that is set. */
qb_status qb__staging_names(const char *folder, const char *target, qb__staging *staging);
void qb__staging_release(qb__staging *staging);
/* True for the name of a staging folder; and for one with that prefix. */
bool qb__staging_named(const char *name);
bool qb__staging_for(const char *name, const char *prefix);
/* Take over a folder whose process has ended: returns its lock, or -1 if the process is alive. */
int qb__staging_claim(const char *folder);
/* Claim a folder for several processes of one job, each with its own lock on the same file; `job` is unique to the job.
 * *first: this process is the first of the job. -1 if a process of another job has it. */
int qb__staging_share(const char *folder, const char *job, bool *first);
/* Remove the folder and its contents, the lock last. */
void qb__staging_remove(const char *folder);

/* List of the staging folders of unfinished outputs (staging.h). qb_abandon() removes them when the process must end
 * before their writers return. Thread-safe. */
bool qb__staging_list_add(const char *name);  /* a copy is kept; false = no memory */
void qb__staging_list_drop(const char *name); /* once for each qb__staging_list_add; NULL-safe */

/* Call these before and after renames of which all or none must happen. QB_CANCELLED if the process is already
 * ending. */
qb_status qb__staging_list_publish(void);
void qb__staging_list_published(void);

/* Wait for running renames, with a time limit, allow no new ones, and remove all folders. */
void qb__staging_list_abandon(void (*remove)(const char *name));
