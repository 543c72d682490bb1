/* SPDX-License-Identifier: MIT */
#ifndef QB_IO_HIDDEN_H
#define QB_IO_HIDDEN_H

#include <stdbool.h>
#include <stddef.h>

#include "quickbeam/status.h"

/* A hidden folder on the disk of an output, in which the output is made until it is whole:
 *   new    what gets the name: a file, or a folder of files
 *   old    what had it before, while a set is exchanged
 *   lock   locked as long as the process lives that works here
 *   set    what belongs together (publication.c): only there while it gets its names
 *   first  instead of that a link to the hidden folder that has it
 * It is called .NAME.part-TAG and lies beside the output; that of files that join a folder,
 * .quickbeam.part-TAG, lies inside. */
typedef enum qb__hidden_kind {
    QB__HIDDEN_FILE = 'f',    /* new is a file, and takes the place of another */
    QB__HIDDEN_FOLDER = 'd',  /* new is a folder that is not there yet */
    QB__HIDDEN_MEMBERS = 'm', /* the files in the folder new join one that is there */
} qb__hidden_kind;

typedef struct qb__hidden {
    qb__hidden_kind kind;
    char *folder, *target, *fresh, *old; /* the hidden folder, the name, FOLDER/new, FOLDER/old */
    int lock;
} qb__hidden;

/* Make one for a name; `target` is as qb__target_of gave it. Release it also after a failure. */
qb_status qb__hidden_make(qb__hidden_kind kind, const char *target, qb__hidden *hidden);
/* The names in it, from the hidden folder's and the target's, for one of a kind that is set. */
qb_status qb__hidden_names(const char *folder, const char *target, qb__hidden *hidden);
void qb__hidden_release(qb__hidden *hidden);
/* Whether a name is one that qb__hidden_make gives. */
bool qb__hidden_named(const char *name);
/* Take over a folder whose owner has died: its lock, or -1 when somebody lives. */
int qb__hidden_claim(const char *folder);
/* Remove the folder and all in it, the lock last. */
void qb__hidden_remove(const char *folder);

/* "A/B"; release with qb__free, NULL when memory is out. */
char *qb__join(const char *a, const char *b);

#endif
