/* SPDX-License-Identifier: MIT */
#ifndef QB_IO_STAGING_H
#define QB_IO_STAGING_H

#include <stdbool.h>
#include <stddef.h>

#include "quickbeam/status.h"

/* A hidden folder on the disk of an output, in which the output is made until it is whole:
 *   new    what gets the name: a file, or a folder of files
 *   parts  files that will be a folder beside it, until the new is whole (hdf5_parts.c)
 *   packed images and lists that serve a compressed file until it is whole (hdf5_packed.c)
 *   old    what had it before, until the new has it for good
 *   lock   locked as long as the process lives that works here
 *   set    what belongs together (publication.c): only there while it gets its names
 *   done   what of the new is on the disk (journal.h), so that another run can go on with it
 *   first  instead of that a link to the hidden folder that has it
 * It is called .NAME.part-TAG and lies beside the output; that of files that join a folder lies inside, and NAME is their
 * label there, which keeps apart what several series in one folder left: .s_%d.tif.part-TAG. */
typedef enum qb__staging_kind {
    QB__STAGING_FILE = 'f',    /* new is a file, and takes the place of another */
    QB__STAGING_FOLDER = 'd',  /* new is a folder that is not there yet */
    QB__STAGING_STORE = 's',   /* new is a folder, and takes the place of another as a whole */
    QB__STAGING_MEMBERS = 'm', /* the files in the folder new join one that is there */
} qb__staging_kind;

typedef struct qb__staging {
    qb__staging_kind kind;
    char *folder, *target, *fresh, *old; /* the hidden folder, the name, FOLDER/new, FOLDER/old */
    int lock;
} qb__staging;

/* Make one for a name; `target` is as qb__target_of gave it, `label` that of files that join a folder, NULL = quickbeam. Release it also after a failure. */
qb_status qb__staging_make(qb__staging_kind kind, const char *target, const char *label, qb__staging *staging);
/* Lock the staging folder that an ended run left for the same name with finished parts. lock < 0: there is none. QB_BAD_ARGUMENT if that
 * run lives. Release it also after a failure. */
qb_status qb__staging_resume(qb__staging_kind kind, const char *target, const char *label, qb__staging *staging);
/* Whether the folder has finished parts of a new output. */
bool qb__staging_kept(const char *folder);
/* From now on another run cannot resume it. `fresh` is FOLDER/new. */
void qb__staging_forget(const char *fresh);
/* Prefix of the names of staging folders for that name; release with qb__free. QB_NO_MEMORY. */
qb_status qb__staging_prefix(qb__staging_kind kind, const char *target, const char *label, char **prefix);
/* The names in it, from the hidden folder's and the target's, for one of a kind that is set. */
qb_status qb__staging_names(const char *folder, const char *target, qb__staging *staging);
void qb__staging_release(qb__staging *staging);
/* Whether a name is that of a staging folder; and whether it has that prefix. */
bool qb__staging_named(const char *name);
bool qb__staging_for(const char *name, const char *prefix);
/* Take over a folder whose process has ended: returns its lock, or -1 if the process lives. */
int qb__staging_claim(const char *folder);
/* Claim a folder for several processes of one job, each with its own lock on the same file; `job` is unique to the job. *first: this
 * process is the first of the job. -1 if a process of another job has it. */
int qb__staging_share(const char *folder, const char *job, bool *first);
/* Remove the folder and all in it, the lock last. */
void qb__staging_remove(const char *folder);

#endif
